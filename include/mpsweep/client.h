/*
 * The client of mpsweep: what a program of yours calls to be measured in every layout of processes
 * and threads (mpsweep sweep ... -- PROGRAM; see mpsweep_client(3)).
 *
 *     struct mpsweep *worker = mpsweep_open(MPSWEEP_NEXT_THREAD);
 *     ... load the model, use the GPU once ...
 *     mpsweep_ready(worker);
 *     while (mpsweep_begin(worker)) {
 *         ... one iteration ...
 *         mpsweep_end(worker);
 *     }
 *     mpsweep_close(worker);
 *
 * Each of the MPSWEEP_THREADS threads of a process opens one handle and uses it alone; after fork()
 * each process opens its own. With several --streams a thread opens MPSWEEP_STREAMS handles, each
 * for one iteration in flight, and polls them:
 *
 *     for each stream: handle = mpsweep_open(MPSWEEP_NEXT_THREAD);
 *     for each stream: mpsweep_ready(handle);            the last one waits for the common start
 *     until all are over, for each stream that is free:
 *         switch (mpsweep_try_begin(handle)) {
 *         case MPSWEEP_GO_ON:   ... enqueue one iteration ...   not free until it has ended on the
 *                                                               GPU: then mpsweep_end(handle)
 *         case MPSWEEP_OVER:    ... this one is over ...
 *         case MPSWEEP_NOT_YET: ... nothing to begin now ...
 *         }
 *     for each stream: mpsweep_close(handle);
 *
 * The handles of a thread share its planned starts (--rate): each goes to the one that is polled
 * next. Where a call would wait for other handles of the same thread, which then could never go on,
 * it fails the layout with a line that names them, and does not wait.
 *
 * One start of a program serves several layouts where it can (mpsweep_client(3)): at the end of one
 * its handles wait in mpsweep_begin() until the next one begins. A handle without a part in a
 * layout, as the second thread of a layout with one, waits there, too.
 *
 * A program that mpsweep has not started gets NULL, which every function takes: nothing is
 * measured, and mpsweep_begin() always returns 1, so that a service runs as it would without
 * mpsweep.
 *
 * No function but mpsweep_open() allocates, and only mpsweep_ready(), mpsweep_begin() and, with
 * --iterations, mpsweep_close() wait. The library needs no CUDA. Link with -lmpsweep-client
 * (pkg-config mpsweep-client).
 */
#ifndef MPSWEEP_CLIENT_H
#define MPSWEEP_CLIENT_H

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a program would have to be compiled anew. */
#define MPSWEEP_CLIENT_ABI 1u

/* What one thread, or one of its streams, measures with. */
struct mpsweep;

/* In mpsweep_open(): the next handle of the calling thread; if it has none, or all of its handles,
 * the first one of a thread that has opened none. */
#define MPSWEEP_NEXT_THREAD (-1)

/* What mpsweep_ready(), mpsweep_begin(), mpsweep_end() and those like them return: in C it is true
 * as long as there is something to do. The values are part of the ABI. */
enum {
    MPSWEEP_NOT_YET = -1,   /* mpsweep_try_begin() alone: nothing to begin now */
    MPSWEEP_OVER = 0,       /* enough was measured, or the handle has failed: the program ends */
    MPSWEEP_GO_ON = 1,      /* there is an iteration to run */
    MPSWEEP_LAYOUT_OVER = 2 /* nothing more in this layout; another one may follow */
};

/* Returns the ABI of the library that was found. Any thread may call it at any time. */
unsigned mpsweep_client_abi(void);

/* As mpsweep_open(), which programs call: it passes the ABI that the program was compiled for. With
 * an ABI that is not the library's the handle cannot be had. */
struct mpsweep *mpsweep_open_abi(unsigned abi, int number);

/*
 * Opens handle number thread * MPSWEEP_STREAMS + stream, both counted from 0, or
 * MPSWEEP_NEXT_THREAD. Any thread may call it; the one that does calls all other functions for the
 * handle, and mpsweep_close() frees it. Returns NULL where mpsweep has not started this program. If
 * it has, and the handle cannot be had (opened twice, no such number, another version, no memory),
 * the reason is printed on standard error, mpsweep shows it, the layout gets no number, and NULL is
 * returned.
 */
static inline struct mpsweep *mpsweep_open(int number)
{
    return mpsweep_open_abi(MPSWEEP_CLIENT_ABI, number);
}

/*
 * To be called after mpsweep_open(), when the thread could serve: models are loaded, the GPU has
 * been used (which is how mpsweep proves that the process runs over MPS or not), what is slow the
 * first time has been done. Waits for all threads of all processes, and for the common start; with
 * several streams the last handle of a thread does, and the others return at once. Returns
 * MPSWEEP_GO_ON, or MPSWEEP_OVER if there is nothing to do any more. Without it the first
 * mpsweep_begin() or mpsweep_try_begin() reports this. Once is enough; between two layouts it waits
 * for the next one, as mpsweep_begin() does. Of NULL it returns MPSWEEP_GO_ON at once, as the next
 * four functions do.
 */
int mpsweep_ready(struct mpsweep *handle);

/*
 * Begins an iteration; with --rate it waits for the planned start. Returns MPSWEEP_GO_ON to run
 * one, MPSWEEP_OVER when enough was measured and the program is to end. A program that goes on is
 * sent SIGTERM a second later. Each begin that returns MPSWEEP_GO_ON is followed by one
 * mpsweep_end(), mpsweep_end_or_hold() or mpsweep_cancel(). Where mpsweep lets the program serve
 * another layout, it waits between the two: nothing may be at work on the GPU then.
 */
int mpsweep_begin(struct mpsweep *handle);

/* The same without waiting: MPSWEEP_NOT_YET where mpsweep_begin() would wait, before the common
 * start, before the planned one, between two layouts, and with --iterations after the last one. For
 * threads that poll several handles, and for bindings that hold a lock. */
int mpsweep_try_begin(struct mpsweep *handle);

/* Ends the iteration, which counts. Returns MPSWEEP_GO_ON if there are to be more, in this layout
 * or another, MPSWEEP_OVER as mpsweep_begin(). */
int mpsweep_end(struct mpsweep *handle);

/* The same for bindings: MPSWEEP_LAYOUT_OVER where more follow in another layout only, if at all,
 * so that mpsweep_ready(), which waits for that, can come before a loop enters its body. */
int mpsweep_end_or_hold(struct mpsweep *handle);

/* Ends the iteration, which does not count, as after an exception. Without one, or of NULL, it does
 * nothing. */
void mpsweep_cancel(struct mpsweep *handle);

/* Whether enough was measured, in all layouts: for loops that do not begin iterations all the time.
 * Returns 1 or 0; within an iteration MPSWEEP_LAYOUT_OVER where enough was measured in this layout,
 * and another one may follow. 0 of NULL. */
int mpsweep_stop_requested(const struct mpsweep *handle);

/*
 * Something went wrong: the layout gets no number, and the handle is over. mpsweep shows the text,
 * which is copied: one line of printable ASCII, in which other bytes become '?', with "failed in
 * thread N: " before it, or "failed in thread N, stream S: ". All of that is cut off at 255 bytes.
 * The first failure of a handle counts. text may be NULL; of a handle that is NULL nothing is done.
 */
void mpsweep_fail(struct mpsweep *handle, const char *text);

/* The same if good is 0: a result is wrong. Returns good, also of NULL. */
int mpsweep_check(struct mpsweep *handle, int good, const char *text);

/* Binds the calling thread, which is to be the handle's, to the CPUs that mpsweep planned for it
 * (--bind), now and in each layout that follows; the process as a whole is bound to those of all
 * its threads already. Returns 0, also of NULL, or an errno. */
int mpsweep_bind(struct mpsweep *handle);

/* The last call for a handle, which it frees; before mpsweep has asked to stop, it is a failure.
 * With --iterations it waits until all others have done theirs. Of NULL it does nothing. */
void mpsweep_close(struct mpsweep *handle);

#ifdef __cplusplus
}
#endif

#endif

#include "worker/engines/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The system calls themselves: libnuma would be one more library for three of them. "Preferred" and
 * not "bind", which has a process killed for want of memory while other nodes have plenty.
 */
enum { POLICY_DEFAULT = 0, POLICY_PREFERRED = 1, POLICY_PREFERRED_MANY = 5 };

/* Pages looked at, evenly spread. */
#define SAMPLES 64

static unsigned count_nodes(const uint64_t nodes[WORK_NODES / 64])
{
    unsigned count = 0;
    for (unsigned i = 0; i < WORK_NODES / 64; i++)
        count += (unsigned)__builtin_popcountll(nodes[i]);
    return count;
}

static int set_policy(int mode, const uint64_t *nodes)
{
    /* The kernel takes one more than there are bits. */
    return syscall(SYS_set_mempolicy, mode, nodes, nodes ? WORK_NODES + 1UL : 0UL) == 0 ? 0 : errno;
}

/* Whether a policy was inherited; where it cannot be asked for, none was. */
static bool has_policy(void)
{
    int mode = POLICY_DEFAULT;
    return syscall(SYS_get_mempolicy, &mode, NULL, 0UL, NULL, 0UL) == 0 && mode != POLICY_DEFAULT;
}

void worker_memory_policy(struct shm_process *record)
{
    static bool ours; /* there is a policy, and it was asked for here */
    enum shm_policy policy = SHM_POLICY_NONE;
    unsigned count = count_nodes(record->nodes);
    int error = 0;
    if (count > 0 && !ours && has_policy()) {
        policy = SHM_POLICY_INHERITED;
    } else if (count > 0) {
        error = set_policy(count > 1 ? POLICY_PREFERRED_MANY : POLICY_PREFERRED, record->nodes);
        policy = error ? SHM_POLICY_REFUSED : SHM_POLICY_SET;
    }
    /* Kernels before 5.15 prefer one node only. Then the node of the CPU that a worker is bound to
     * is as good: it is one of those that were to be preferred. */
    if (count > 1 && error == EINVAL) {
        policy = SHM_POLICY_NONE;
        error = 0;
    }
    if (ours && policy != SHM_POLICY_SET)
        set_policy(POLICY_DEFAULT, NULL);
    ours = policy == SHM_POLICY_SET;
    atomic_store(&record->policy, (uint32_t)policy);
    atomic_store(&record->policy_errno, error);
}

bool worker_memory_is_one_node(void)
{
    char nodes[32] = "";
    int fd = open("/sys/devices/system/node/has_memory", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT; /* a kernel without NUMA */
    ssize_t length = read(fd, nodes, sizeof nodes - 1);
    close(fd);
    return length > 0 && !strpbrk(nodes, ",-");
}

void *worker_memory_new(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void worker_memory_free(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

void worker_memory_find(const void *memory, size_t bytes, uint64_t nodes[WORK_NODES / 64])
{
    if (!memory || bytes == 0)
        return;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const char *first = (const char *)memory - (uintptr_t)memory % page;
    const void *pages[SAMPLES];
    int found[SAMPLES];
    size_t all = ((uintptr_t)memory % page + bytes + page - 1) / page;
    unsigned count = all < SAMPLES ? (unsigned)all : SAMPLES;
    for (unsigned i = 0; i < count; i++) {
        pages[i] = first + i * all / count * page;
        found[i] = -1;
    }
    /* Without places to move to, it reports where they are. */
    if (syscall(SYS_move_pages, 0, (unsigned long)count, pages, NULL, found, 0) != 0)
        return;
    for (unsigned i = 0; i < count; i++)
        if (found[i] >= 0 && found[i] < WORK_NODES)
            nodes[found[i] / 64] |= UINT64_C(1) << (found[i] % 64);
}

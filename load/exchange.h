/*
 * One connection to the server: an HTTP request on its way, and what its answer is worth.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "load/options.h"

struct exchange {
    CURL *easy;
    const struct load_options *options;
    struct curl_slist *headers;
    const struct body *body;              /* what curl sends; NULL: nothing */
    uint64_t first_byte_ns, last_byte_ns; /* moments of the clock; 0: none has come */
    unsigned sent;                        /* how often the request went out */
    size_t answer_bytes;
    char begin[64]; /* of the answer */
    char *seam;     /* of an expected text: the last bytes that came, with which it may begin */
    size_t seam_bytes;
    bool has_text;               /* it has come */
    bool switches;               /* the answer is a 101 */
    char error[CURL_ERROR_SIZE]; /* what curl found wrong with the answer, or "" */
};

/* Before the first of them; the caller calls curl_global_init() before. exchange_release() ends it.
 * STATUS_MEMORY is the only error. */
enum status exchange_init(const struct load_options *options, struct exchange *out);
void exchange_release(struct exchange *exchange);

/* Before each request. body: what it sends, kept by the caller until the next one; NULL, each time:
 * none. */
void exchange_begin(struct exchange *exchange, const struct body *body);

enum exchange_result {
    EXCHANGE_GOOD,
    EXCHANGE_ERROR, /* no whole answer came */
    EXCHANGE_WRONG, /* one that is not as expected */
};

/* Judges an answer by curl's result; text (128 bytes) gets the reason of a bad one. */
enum exchange_result exchange_judge(const struct exchange *exchange, CURLcode code, char text[128]);

enum exchange_readiness {
    EXCHANGE_READY,
    EXCHANGE_NOT_YET,
    EXCHANGE_NEVER, /* its certificate is not trusted */
};

/* Asks a server once, and waits for it: whether a GET of options->ready has an answer of 200 to
 * 299; without that URL, whether it takes connections. goes_on(data), which is asked each second at
 * least, ends the wait: EXCHANGE_NOT_YET. text (128 bytes) gets what is wrong with an answer that
 * is not as it should be or does not come in time, or with its connection; "" while there is none.
 */
enum exchange_readiness exchange_is_ready(const struct load_options *options,
                                          bool (*goes_on)(void *data), void *data, char text[128]);

#include "load/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/text.h"

/* How long an answer may take, as in the script 'ready' of a deployment (emit/ready), and a
 * connection. */
#define READY_S 5L
#define CONNECT_MS 1000L

/* Looks for the expected text in the next part of an answer, and where the parts meet. */
static void look_for_text(struct exchange *exchange, const char *bytes, size_t count)
{
    const char *text = exchange->options->expected_text;
    size_t length = strlen(text), before = length - 1;
    size_t begin = count < before ? count : before, seam = exchange->seam_bytes + begin;
    memcpy(exchange->seam + exchange->seam_bytes, bytes, begin);
    exchange->has_text |=
        memmem(exchange->seam, seam, text, length) || memmem(bytes, count, text, length);
    /* What may be the begin of it: the last bytes of all that came. */
    exchange->seam_bytes = count < before && seam < before ? seam : before;
    if (count < before)
        memmove(exchange->seam, exchange->seam + seam - exchange->seam_bytes, exchange->seam_bytes);
    else
        memcpy(exchange->seam, bytes + count - before, before);
}

static size_t take_answer(char *bytes, size_t size, size_t count, void *data)
{
    struct exchange *exchange = data;
    size_t all = size * count;
    exchange->last_byte_ns = clock_now_ns();
    if (!exchange->first_byte_ns)
        exchange->first_byte_ns = exchange->last_byte_ns;
    if (exchange->answer_bytes < sizeof exchange->begin) {
        size_t room = sizeof exchange->begin - exchange->answer_bytes;
        memcpy(exchange->begin + exchange->answer_bytes, bytes, all < room ? all : room);
    }
    exchange->answer_bytes += all;
    if (exchange->seam && !exchange->has_text)
        look_for_text(exchange, bytes, all);
    return all;
}

/* Before the request goes out. libcurl would send one again, on a new connection, whose server has
 * closed the connection instead of answering. */
static int note_sent(void *data, char *remote, char *local, int remote_port, int local_port)
{
    struct exchange *exchange = data;
    (void)remote;
    (void)local;
    (void)remote_port;
    (void)local_port;
    return exchange->sent++ > 0 ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

/* libcurl takes a 101 that no request asked for as every 1xx, and waits for another answer. */
static size_t take_header(char *line, size_t size, size_t count, void *data)
{
    static const char version[] = "HTTP/1.1", switching[] = " 101";
    size_t all = size * count, at = strlen(version);
    bool *switches = data;
    *switches |= all >= at + strlen(switching) && strncmp(line, version, at - 1) == 0 &&
                 strncmp(line + at, switching, strlen(switching)) == 0;
    return *switches ? 0 : all;
}

/* What all requests of this program have in common. The server is near: no proxy is between. Over
 * HTTP/2, which libcurl would choose with https, all would share one connection. *switches is set
 * where an answer is a 101, which ends the request with CURLE_WRITE_ERROR. */
static void set_usual(CURL *easy, const char *url, long timeout_ms, bool *switches)
{
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, switches);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout_ms);
}

static bool add_header(struct exchange *exchange, const char *text)
{
    struct curl_slist *headers = curl_slist_append(exchange->headers, text);
    if (headers)
        exchange->headers = headers;
    return headers != NULL;
}

/* Whether a header asks the server to close the connection behind its answer. */
static bool asks_to_close(const char *header)
{
    static const char name[] = "Connection:";
    return strncasecmp(header, name, strlen(name)) == 0 &&
           strcasestr(header + strlen(name), "close") != NULL;
}

/* Each line of the option. */
static bool add_headers(struct exchange *exchange)
{
    const char *text = exchange->options->header;
    char *lines = text ? strdup(text) : NULL, *rest = lines;
    bool added = !text || lines;
    while (added && rest) {
        const char *line = strsep(&rest, "\n");
        added = add_header(exchange, line);
        /* libcurl would send the next request on it, which the server may not have closed yet. */
        if (asks_to_close(line))
            curl_easy_setopt(exchange->easy, CURLOPT_FORBID_REUSE, 1L);
    }
    free(lines);
    return added;
}

static void set_request(const struct exchange *exchange)
{
    const struct load_options *options = exchange->options;
    CURL *easy = exchange->easy;
    if (strcmp(options->method, "HEAD") == 0) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    } else if (options->bodies.count == 0 && strcmp(options->method, "POST") == 0) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, 0L);
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, options->method);
}

enum status exchange_init(const struct load_options *options, struct exchange *out)
{
    *out = (struct exchange){.easy = curl_easy_init(), .options = options};
    if (options->expected_text)
        out->seam = malloc(2 * strlen(options->expected_text));
    /* A body goes at once, whatever its length. */
    if (!out->easy || (options->expected_text && !out->seam) || !add_header(out, "Expect:") ||
        !add_headers(out))
        return status_set(STATUS_MEMORY, "out of memory for a connection");
    set_usual(out->easy, options->url, (long)(options->timeout_ns / NS_PER_MS), &out->switches);
    set_request(out);
    curl_easy_setopt(out->easy, CURLOPT_HTTPHEADER, out->headers);
    curl_easy_setopt(out->easy, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(out->easy, CURLOPT_WRITEDATA, out);
    curl_easy_setopt(out->easy, CURLOPT_PREREQFUNCTION, note_sent);
    curl_easy_setopt(out->easy, CURLOPT_PREREQDATA, out);
    curl_easy_setopt(out->easy, CURLOPT_PRIVATE, out);
    curl_easy_setopt(out->easy, CURLOPT_ERRORBUFFER, out->error);
    return STATUS_OK;
}

void exchange_release(struct exchange *exchange)
{
    curl_easy_cleanup(exchange->easy);
    curl_slist_free_all(exchange->headers);
    free(exchange->seam);
    *exchange = (struct exchange){0};
}

void exchange_begin(struct exchange *exchange, const struct body *body)
{
    if (body != exchange->body) {
        curl_easy_setopt(exchange->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->count);
        curl_easy_setopt(exchange->easy, CURLOPT_POSTFIELDS, body->bytes);
        exchange->body = body;
    }
    exchange->first_byte_ns = exchange->last_byte_ns = 0;
    exchange->sent = 0;
    exchange->answer_bytes = exchange->seam_bytes = 0;
    exchange->has_text = exchange->switches = false;
    exchange->error[0] = '\0';
}

static void describe_error(const struct exchange *exchange, CURLcode code, char text[128])
{
    const struct load_options *options = exchange->options;
    if (code == CURLE_OPERATION_TIMEDOUT)
        snprintf(text, 128, "no answer within %.3g s", (double)options->timeout_ns / NS_PER_S);
    else if (code == CURLE_ABORTED_BY_CALLBACK || code == CURLE_GOT_NOTHING)
        snprintf(text, 128, "the connection was closed without an answer");
    else if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY)
        snprintf(text, 128, "an answer that is not valid HTTP/1.0 or 1.1%s%.70s",
                 exchange->error[0] ? ": " : "", exchange->error);
    else
        snprintf(text, 128, "%.127s",
                 exchange->error[0] ? exchange->error : curl_easy_strerror(code));
}

/* "HTTP 302 to http://host/login, which is not followed" */
static void add_status(CURL *easy, long status, struct text *out)
{
    const char *target = NULL;
    curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &target);
    text_append(out, "HTTP %ld", status);
    if (target)
        text_append(out, " to %.80s, which is not followed", target);
}

/* "HTTP 400, and --expect asks for 201: 'no such model'" */
static void describe_status(const struct exchange *exchange, long status, char text[128])
{
    char begin[sizeof exchange->begin + 1];
    struct text out = {.at = text, .size = 128};
    size_t bytes = exchange->answer_bytes;
    bytes = bytes < sizeof exchange->begin ? bytes : sizeof exchange->begin;
    add_status(exchange->easy, status, &out);
    if (exchange->options->expected_status)
        text_append(&out, ", and --expect asks for %ld", exchange->options->expected_status);
    if (bytes > 0)
        text_append(&out, ": '%s'", text_printable(exchange->begin, bytes, begin, sizeof begin));
}

enum exchange_result exchange_judge(const struct exchange *exchange, CURLcode code, char text[128])
{
    const struct load_options *options = exchange->options;
    long status = 0;
    if (code != CURLE_OK && !exchange->switches) {
        describe_error(exchange, code, text);
        return EXCHANGE_ERROR;
    }
    curl_easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
    bool good = options->expected_status ? status == options->expected_status
                                         : status >= 200 && status <= 299;
    if (!good) {
        describe_status(exchange, status, text);
        return EXCHANGE_WRONG;
    }
    if (options->expected_text && !exchange->has_text) {
        snprintf(text, 128, "an answer of %zu bytes without '%.60s'", exchange->answer_bytes,
                 options->expected_text);
        return EXCHANGE_WRONG;
    }
    return EXCHANGE_GOOD;
}

static size_t drop_answer(char *bytes, size_t size, size_t count, void *data)
{
    (void)bytes;
    (void)data;
    return size * count;
}

/* A server that starts takes no connections yet, or takes them and leaves them alone. */
static bool may_be_starting(CURLcode code)
{
    return code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT ||
           code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
           code == CURLE_ABORTED_BY_CALLBACK;
}

struct patience {
    bool (*goes_on)(void *data);
    void *data;
};

/* For libcurl, which asks at least once a second. */
static int gives_up(void *data, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct patience *patience = data;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return !patience->goes_on(patience->data);
}

/* What is wrong with an answer, or with its connection. */
static void describe_unready(const struct load_options *options, CURL *easy, CURLcode code,
                             long status, char text[128])
{
    struct text out = {.at = text, .size = 128};
    if (code == CURLE_OK)
        add_status(easy, status, &out);
    else if (code == CURLE_OPERATION_TIMEDOUT && options->ready)
        snprintf(text, 128, "no answer within %ld s", READY_S);
    else if (!may_be_starting(code))
        snprintf(text, 128, "%s", curl_easy_strerror(code));
}

enum exchange_readiness exchange_is_ready(const struct load_options *options,
                                          bool (*goes_on)(void *data), void *data, char text[128])
{
    struct patience patience = {goes_on, data};
    CURL *easy = curl_easy_init();
    long status = 0;
    bool switches = false;
    text[0] = '\0';
    if (!easy)
        return EXCHANGE_NOT_YET;
    set_usual(easy, options->ready ? options->ready : options->url,
              options->ready ? READY_S * 1000 : CONNECT_MS, &switches);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop_answer);
    curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, options->ready ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, gives_up);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &patience);
    CURLcode code = curl_easy_perform(easy);
    code = switches ? CURLE_OK : code;
    if (code == CURLE_OK)
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    bool good = code == CURLE_OK && (!options->ready || (status >= 200 && status <= 299));
    if (!good)
        describe_unready(options, easy, code, status, text);
    curl_easy_cleanup(easy);
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        return EXCHANGE_NEVER;
    return good ? EXCHANGE_READY : EXCHANGE_NOT_YET;
}

#include "tests/fakes/http_server/internal.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int port, record_fd = -1;
int64_t ready_ns, delay_ns, stream_ns;
bool serial, streams, uses_gpu, refuses, stubborn;
const char *good_text = "{\"ok\":true}", *wrong_text, *wrong_length, *wanted_body;
enum fault configured_fault;
int fault_status;
long every = 1, exit_after;

enum option_id {
    OPTION_PORT = 1,
    OPTION_READY_AFTER,
    OPTION_DELAY,
    OPTION_SERIAL,
    OPTION_STREAM,
    OPTION_TEXT,
    OPTION_WANTS,
    OPTION_RECORD,
    OPTION_GPU,
    OPTION_REFUSE,
    OPTION_STUBBORN,
    OPTION_EXIT_AFTER,
    OPTION_STATUS,
    OPTION_WRONG_TEXT,
    OPTION_CLOSE,
    OPTION_STALL,
    OPTION_LENGTH,
    OPTION_EVERY
};

static const struct option options[] = {
    {"port", required_argument, NULL, OPTION_PORT},
    {"ready-after", required_argument, NULL, OPTION_READY_AFTER},
    {"delay-ms", required_argument, NULL, OPTION_DELAY},
    {"serial", no_argument, NULL, OPTION_SERIAL},
    {"stream-ms", required_argument, NULL, OPTION_STREAM},
    {"text", required_argument, NULL, OPTION_TEXT},
    {"wants", required_argument, NULL, OPTION_WANTS},
    {"record", required_argument, NULL, OPTION_RECORD},
    {"gpu", no_argument, NULL, OPTION_GPU},
    {"refuse", no_argument, NULL, OPTION_REFUSE},
    {"stubborn", no_argument, NULL, OPTION_STUBBORN},
    {"exit-after", required_argument, NULL, OPTION_EXIT_AFTER},
    {"status", required_argument, NULL, OPTION_STATUS},
    {"wrong-text", required_argument, NULL, OPTION_WRONG_TEXT},
    {"close", no_argument, NULL, OPTION_CLOSE},
    {"stall", no_argument, NULL, OPTION_STALL},
    {"length", required_argument, NULL, OPTION_LENGTH},
    {"every", required_argument, NULL, OPTION_EVERY},
    {NULL, 0, NULL, 0},
};

__attribute__((noreturn)) static void refuse_usage(const char *text)
{
    fprintf(stderr, "http-server: wrong value '%s'\n", text);
    exit(EXIT_FAILURE);
}

static double number_of(const char *text, double lowest, double highest)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !(number >= lowest && number <= highest))
        refuse_usage(text);
    return number;
}

static const char *short_text(const char *text)
{
    if (strlen(text) > MAX_TEXT)
        refuse_usage("of more than 8192 bytes");
    return text;
}

static void take_option(enum option_id option, const char *value)
{
    switch (option) {
    case OPTION_PORT:
        port = (int)number_of(value, 1, 65535);
        break;
    case OPTION_READY_AFTER:
        ready_ns = now_ns() + (int64_t)(number_of(value, 0, 1e6) * NS_PER_S);
        break;
    case OPTION_DELAY:
        delay_ns = (int64_t)(number_of(value, 0, 1e6) * NS_PER_MS);
        break;
    case OPTION_SERIAL:
        serial = true;
        break;
    case OPTION_STREAM:
        streams = true;
        stream_ns = (int64_t)(number_of(value, 0, 1e6) * NS_PER_MS);
        break;
    case OPTION_TEXT:
        good_text = short_text(value);
        break;
    case OPTION_WANTS:
        wanted_body = value;
        break;
    case OPTION_RECORD:
        record_fd = open(value, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (record_fd < 0)
            die(value);
        break;
    case OPTION_GPU:
        uses_gpu = true;
        break;
    case OPTION_REFUSE:
        refuses = true;
        break;
    case OPTION_STUBBORN:
        stubborn = true;
        break;
    case OPTION_EXIT_AFTER:
        exit_after = (long)number_of(value, 1, 1e9);
        break;
    case OPTION_STATUS:
        configured_fault = FAULT_STATUS;
        fault_status = (int)number_of(value, 100, 599);
        break;
    case OPTION_WRONG_TEXT:
        configured_fault = FAULT_TEXT;
        wrong_text = short_text(value);
        break;
    case OPTION_CLOSE:
        configured_fault = FAULT_CLOSE;
        break;
    case OPTION_STALL:
        configured_fault = FAULT_STALL;
        break;
    case OPTION_LENGTH:
        configured_fault = FAULT_LENGTH;
        wrong_length = short_text(value);
        break;
    case OPTION_EVERY:
        every = (long)number_of(value, 1, 1e9);
        break;
    }
}

void take_options(int argc, char **argv)
{
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == '?')
            exit(EXIT_FAILURE);
        take_option((enum option_id)option, optarg);
    }
    if (port == 0 || optind < argc)
        refuse_usage(optind < argc ? argv[optind] : "of --port");
    if (streams && (!*good_text || (wrong_text && !*wrong_text)))
        refuse_usage("of a text: an empty one has no two chunks");
}

#include "load/options.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/load.h"

/* "POST http://...", which lies in text. */
static enum status split_request(char *text, struct load_options *out)
{
    char *space = strchr(text, ' ');
    if (!space)
        return status_set(STATUS_USAGE, "'%s' is not a request: METHOD URL", text);
    *space = '\0';
    out->method = text;
    out->url = space + 1;
    return STATUS_OK;
}

static void take_expected(const char *text, struct load_options *out)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (*text && !*end && number >= 100 && number <= 599)
        out->expected_status = number;
    else if (*text)
        out->expected_text = text;
}

enum status load_options_read(int argc, char **argv, struct load_options *out)
{
    static const struct option known[] = {{LOAD_REQUEST, required_argument, NULL, 'r'},
                                          {LOAD_READY, required_argument, NULL, 'y'},
                                          {LOAD_HEADER, required_argument, NULL, 'h'},
                                          {LOAD_BODY, required_argument, NULL, 'b'},
                                          {LOAD_BODIES, required_argument, NULL, 'B'},
                                          {LOAD_EXPECT, required_argument, NULL, 'e'},
                                          {LOAD_ARRIVALS, required_argument, NULL, 'a'},
                                          {LOAD_TIMEOUT, required_argument, NULL, 't'},
                                          {0}};
    enum status status = STATUS_OK;
    *out = (struct load_options){0};
    for (int word; status == STATUS_OK && (word = getopt_long(argc, argv, "+", known, NULL)) != -1;)
        switch (word) {
        case 'r':
            status = split_request(optarg, out);
            break;
        case 'y':
            out->ready = optarg;
            break;
        case 'h':
            out->header = optarg;
            break;
        case 'b':
        case 'B':
            status = bodies_read(optarg, word == 'B', &out->bodies);
            break;
        case 'e':
            take_expected(optarg, out);
            break;
        case 'a':
            status = arrivals_read(optarg, &out->arrivals);
            break;
        case 't':
            out->timeout_ns = strtoull(optarg, NULL, 10);
            break;
        default:
            status = status_set(STATUS_USAGE, "unknown word before '%s'", argv[optind - 1]);
        }
    out->command = argv + optind;
    if (status == STATUS_OK && (!out->url || !*out->command))
        status = status_set(STATUS_USAGE, "needs a request and a server");
    return status;
}

void load_options_release(struct load_options *options)
{
    bodies_release(&options->bodies);
    arrivals_release(&options->arrivals);
}

/*
 * mpsweep-load: starts a server and sends it requests, each an iteration of a program's handle.
 * orchestrator/crew/program.c puts it before a server's command, and it is not to be started by
 * hand.
 *
 * It is to mpsweep what any program is that counts its iterations (include/mpsweep/client.h), with
 * the server as its child: threads of the layout, with their streams, are requests in flight.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/requests.h"
#include "common/clock.h"
#include "load/exchange.h"
#include "load/options.h"
#include "load/server.h"
#include "load/traffic.h"

#define LOOK_NS (20 * NS_PER_MS)
#define LEAVE_NS (2 * NS_PER_S)

struct load {
    struct load_options options;
    struct server server;
    struct mpsweep **handles;
    unsigned count;
};

static unsigned number_of(const char *variable)
{
    const char *text = getenv(variable);
    return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

static enum status open_handles(struct load *load)
{
    load->count = number_of("MPSWEEP_THREADS") * number_of("MPSWEEP_STREAMS");
    load->handles = calloc(load->count ? load->count : 1, sizeof *load->handles);
    if (!load->handles)
        return status_set(STATUS_MEMORY, "out of memory for handles");
    for (unsigned i = 0; i < load->count; i++)
        load->handles[i] = mpsweep_open((int)i);
    if (load->count == 0 || !load->handles[0])
        return status_set(STATUS_USAGE, "started by mpsweep, not by hand");
    return STATUS_OK;
}

/* Whether there is still a reason to wait for an answer. */
static bool waits_on(void *data)
{
    struct load *load = data;
    return !mpsweep_stop_requested(load->handles[0]) &&
           (!load->server.pid || server_check(&load->server) == STATUS_OK);
}

/* Another program's answers would count as the server's. One that has just been ended may take
 * connections for a moment. */
static enum status check_address(struct load *load)
{
    uint64_t until_ns = clock_now_ns() + LEAVE_NS;
    struct load_options connects = load->options;
    char text[128];
    connects.ready = NULL;
    enum exchange_readiness taken = exchange_is_ready(&connects, waits_on, load, text);
    while (taken != EXCHANGE_NOT_YET && clock_now_ns() < until_ns) {
        clock_sleep_until(clock_now_ns() + LOOK_NS);
        taken = exchange_is_ready(&connects, waits_on, load, text);
    }
    if (taken == EXCHANGE_NOT_YET)
        return STATUS_OK;
    return status_set(STATUS_WORKER,
                      "%.120s takes connections before its server is started: end what listens "
                      "there, or give another port",
                      load->options.url);
}

/* How long it may take is for mpsweep to decide, which reports why it is not. */
static enum status await_server(struct load *load)
{
    enum status status = STATUS_OK;
    char text[128];
    while (status == STATUS_OK && !mpsweep_stop_requested(load->handles[0])) {
        enum exchange_readiness ready = exchange_is_ready(&load->options, waits_on, load, text);
        if (ready == EXCHANGE_READY)
            return STATUS_OK;
        if (ready == EXCHANGE_NEVER)
            return status_set(STATUS_WORKER,
                              "%.100s: %.100s: add the authority that signed it to those of the "
                              "system, or give a URL with http://",
                              load->options.ready ? load->options.ready : load->options.url, text);
        client_note_unready(text);
        clock_sleep_until(clock_now_ns() + LOOK_NS);
        status = server_check(&load->server);
    }
    return status;
}

static enum status run(struct load *load, int argc, char **argv)
{
    enum status status = load_options_read(argc, argv, &load->options);
    if (status == STATUS_OK)
        status = open_handles(load);
    if (status == STATUS_OK)
        status = check_address(load);
    if (status == STATUS_OK && !mpsweep_stop_requested(load->handles[0]))
        status = server_start(&load->options, &load->server);
    if (status == STATUS_OK)
        status = await_server(load);
    if (status != STATUS_OK || mpsweep_stop_requested(load->handles[0]))
        return status;
    client_use_arrivals(&load->options.arrivals);
    /* The server is what is measured. */
    client_use_cpu(server_read_cpu, &load->server);
    return traffic_run(&load->options, &load->server, load->handles, load->count);
}

int main(int argc, char **argv)
{
    struct load load = {0};
    curl_global_init(CURL_GLOBAL_DEFAULT);
    enum status status = run(&load, argc, argv);
    if (load.server.ended)
        server_exit_like(&load.server);
    /* Our supervisor sends it to all of us a little later: the server has its time all the same. */
    signal(SIGTERM, SIG_IGN);
    for (unsigned i = 0; load.handles && i < load.count; i++) {
        if (status != STATUS_OK)
            mpsweep_fail(load.handles[i], status_text());
        mpsweep_close(load.handles[i]);
    }
    if (status != STATUS_OK && (!load.handles || !load.handles[0]))
        fprintf(stderr, "mpsweep-load: %s\n", status_text());
    if (load.server.pid && !server_stop(&load.server))
        client_note_cut_off();
    free(load.handles);
    load_options_release(&load.options);
    curl_global_cleanup();
    return status == STATUS_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

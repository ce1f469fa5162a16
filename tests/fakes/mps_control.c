/*
 * nvidia-cuda-mps-control as it must not be: stands for the program of that name on PATH, or for
 * mpsweep-emulated-mps-control, and hands everything on to the emulated one unless FAKE_MODE
 * requests otherwise.
 *
 *   DAEMON     the program to hand on to; that of MPSWEEP_BUILD_DIR if it is not set
 *   FAKE_LOG   a file for one line "SECONDS PID WHAT ..." of each start and of each command; also
 *              with WHAT being daemon-died and daemon-ignored, of a daemon in that mode
 *   FAKE_MODE  WHAT[#N]=HOW, separated by commas; the first that fits counts
 *
 * WHAT is `daemon` (the start with -f or -d), `version` (-v), the name of a command, or `any`
 * command. With #N only the N-th time since FAKE_LOG, which it then needs, was begun. HOW is
 *
 *   pass        hand it on
 *   slow:MS     hand it on MS milliseconds later
 *   hold        hand it on after what the fault "hold" does (emul/cuda/fault.h)
 *   silent      never answer; a daemon that never listens
 *   wrong       answer babble, and do nothing
 *   empty       answer nothing, and do nothing
 *   garbage     answer bytes that are not text, and do nothing
 *   huge        answer four megabytes of numbers, and do nothing
 *   cut         answer half of the first line of the answer
 *   reply:TEXT  answer TEXT, and do nothing; \n in it begins a new line
 *   fail:STATUS do nothing, and end with this status
 *   old         a command that sets something: leave it and answer as the real one does
 *   faulty      get_server_status: FAULT
 *
 * A daemon that must answer does so first, on standard output, and runs; but with `reply` it
 * answers on standard error and ends with status 1, as with fail, and empty makes it end at once.
 * More for daemons:
 *
 *   stale       leaves a socket without a listener, reports that another is running and ends
 *   dies:MS     ends after MS milliseconds
 *   dies-at:N   ends when it has N clients
 *   unkillable  ignores SIGTERM, and the command to quit
 *
 * A daemon with static partitions (-f -S) is the emulated one without: the version, sm_partition
 * and lspart need a reply each.
 *
 * Nothing outlives it: what it started is killed with it. SIGTERM is passed on.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "emul/cuda/fault.h"

#define USAGE 64
#define LINE_BYTES 4096
#define HUGE_BYTES (4 << 20)

enum how {
    PASS,
    SLOW,
    HOLD,
    SILENT,
    WRONG,
    EMPTY,
    GARBAGE,
    HUGE_ANSWER,
    CUT,
    REPLY,
    FAIL,
    OLD,
    FAULTY,
    STALE,
    DIES,
    DIES_AT,
    UNKILLABLE
};

static const struct {
    const char *name;
    enum how how;
    bool takes_argument;
} hows[] = {
    {"pass", PASS, false},
    {"slow", SLOW, true},
    {"hold", HOLD, false},
    {"silent", SILENT, false},
    {"wrong", WRONG, false},
    {"empty", EMPTY, false},
    {"garbage", GARBAGE, false},
    {"huge", HUGE_ANSWER, false},
    {"cut", CUT, false},
    {"reply", REPLY, true},
    {"fail", FAIL, true},
    {"old", OLD, false},
    {"faulty", FAULTY, false},
    {"stale", STALE, false},
    {"dies", DIES, true},
    {"dies-at", DIES_AT, true},
    {"unkillable", UNKILLABLE, false},
};

struct rule {
    enum how how;
    char argument[512];
};

static char program[4096];

__attribute__((format(printf, 1, 2))) static _Noreturn void misused(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(USAGE);
}

/* -- what to do -------------------------------------------------------------------------------- */

static bool is_command(const char *what)
{
    return strncmp(what, "daemon", 6) != 0 && strcmp(what, "version") != 0;
}

static bool fits(const char *wanted, const char *what)
{
    return strcmp(wanted, what) == 0 || (strcmp(wanted, "any") == 0 && is_command(what));
}

/* How often something that fits has been logged. */
static unsigned count_logged(const char *wanted)
{
    const char *path = getenv("FAKE_LOG");
    char line[LINE_BYTES], what[128];
    unsigned count = 0;
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    if (file == NULL)
        misused("FAKE_MODE counts, and there is no FAKE_LOG");
    while (fgets(line, sizeof line, file) != NULL) {
        what[0] = '\0';
        sscanf(line, "%*s %*s %127s", what);
        count += fits(wanted, what);
    }
    fclose(file);
    return count;
}

static void log_line(const char *what, const char *rest)
{
    const char *path = getenv("FAKE_LOG");
    uint64_t now = clock_now_ns();
    if (path == NULL)
        return;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        misused("cannot write '%s'", path);
    dprintf(fd, "%llu.%03u %d %s%s%s\n", (unsigned long long)(now / NS_PER_S),
            (unsigned)(now % NS_PER_S / NS_PER_MS), (int)getpid(), what, *rest != '\0' ? " " : "",
            rest);
    close(fd);
}

static bool parse_how(const char *text, struct rule *rule)
{
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++)
        if (strlen(hows[i].name) == length && strncmp(hows[i].name, text, length) == 0) {
            rule->how = hows[i].how;
            snprintf(rule->argument, sizeof rule->argument, "%s", colon != NULL ? colon + 1 : "");
            return (colon != NULL) == hows[i].takes_argument;
        }
    return false;
}

/* The rule for what is done now, which has been logged. */
static struct rule find_rule(const char *what)
{
    const char *mode = getenv("FAKE_MODE");
    struct rule rule, found = {.how = PASS};
    bool done = false;
    while (mode != NULL && *mode != '\0') {
        char item[600];
        size_t length = strcspn(mode, ",");
        snprintf(item, sizeof item, "%.*s", (int)length, mode);
        mode += length;
        mode += *mode == ',';
        char *how = strchr(item, '=');
        if (how != NULL)
            *how++ = '\0';
        char *nth = strchr(item, '#');
        if (nth != NULL)
            *nth++ = '\0';
        if (how == NULL || !parse_how(how, &rule))
            misused("FAKE_MODE: cannot understand '%s=%s'", item, how != NULL ? how : "");
        if (done || !fits(item, what))
            continue;
        done = nth == NULL || count_logged(item) == strtoul(nth, NULL, 10);
        if (done)
            found = rule;
    }
    return found;
}

/* -- what it answers --------------------------------------------------------------------------- */

static void say(FILE *to, const char *text)
{
    for (; *text != '\0'; text++) {
        bool newline = text[0] == '\\' && text[1] == 'n';
        fputc(newline ? '\n' : *text, to);
        text += newline;
    }
    fputc('\n', to);
}

static void answer(const struct rule *rule)
{
    switch (rule->how) {
    case WRONG:
        puts("babble 12 babble");
        break;
    case GARBAGE:
        fwrite("\x1b[31m\0\xff\xfe\x80\x07 12\r\b\n\xc3\x28\n", 1, 19, stdout);
        break;
    case HUGE_ANSWER:
        for (int i = 0; i < HUGE_BYTES / 5; i++)
            fputs("4711\n", stdout);
        break;
    case REPLY:
        say(stdout, rule->argument);
        break;
    case FAULTY:
        puts("FAULT");
        break;
    default:
        break;
    }
    fflush(stdout);
}

/* Waits until a signal, or until the client has gone. */
static _Noreturn void be_silent(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        pause();
}

/* What hands on later. */
static void delay(const struct rule *rule)
{
    if (rule->how == SLOW)
        clock_sleep_until(clock_now_ns() + strtoull(rule->argument, NULL, 10) * NS_PER_MS);
    if (rule->how == HOLD)
        fault_hold();
}

/* -- handing on -------------------------------------------------------------------------------- */

/* Starts the program with one option or none; it dies with us. */
static pid_t start_program(const char *option, int in, int out, bool own_group)
{
    pid_t parent = getpid();
    pid_t child = fork();
    if (child != 0)
        return child;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    if (own_group)
        setpgid(0, 0);
    dup2(in, 0);
    dup2(out, 1);
    execl(program, program, option, (char *)NULL);
    fprintf(stderr, "cannot run '%s': %s\n", program, strerror(errno));
    _exit(USAGE);
}

static int status_of(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Gives the program one command, and the first bytes of its answer back. */
static int ask(const char *command, char *text, size_t size)
{
    int in[2], out[2];
    size_t length = 0;
    ssize_t got;
    char rest[512];
    signal(SIGPIPE, SIG_IGN);
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        misused("no pipes");
    pid_t child = start_program(NULL, in[0], out[1], false);
    close(in[0]);
    close(out[1]);
    if (command != NULL)
        dprintf(in[1], "%s\n", command);
    close(in[1]);
    while (length + 1 < size && (got = read(out[0], text + length, size - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    while (read(out[0], rest, sizeof rest) > 0)
        ;
    close(out[0]);
    return status_of(child);
}

static int hand_on(const char *command)
{
    char text[65536];
    int status = ask(command, text, sizeof text);
    fputs(text, stdout);
    fflush(stdout);
    return status;
}

static int hand_on_half(const char *command)
{
    char text[65536];
    int status = ask(command, text, sizeof text);
    printf("%.*s", (int)(strcspn(text, "\n") + 1) / 2, text);
    fflush(stdout);
    return status;
}

/* What the real one answers to a set that it ignores: the value, where it answers at all. */
static int hand_on_get(const char *command)
{
    char get[LINE_BYTES];
    if (strncmp(command, "set_", 4) != 0 || strstr(command, "percentage") == NULL)
        return 0;
    snprintf(get, sizeof get, "g%s", command + 1);
    return hand_on(get);
}

/* -- commands ---------------------------------------------------------------------------------- */

static bool daemon_is_unkillable(void)
{
    return find_rule("daemon").how == UNKILLABLE;
}

static int run_command(const char *line)
{
    char what[128] = "";
    sscanf(line, "%127s", what);
    log_line(*what != '\0' ? what : "-", line + strlen(what));
    const struct rule rule = find_rule(what);
    switch (rule.how) {
    case PASS:
        return strcmp(what, "quit") == 0 && daemon_is_unkillable() ? 0 : hand_on(line);
    case SLOW:
    case HOLD:
        delay(&rule);
        return hand_on(line);
    case SILENT:
        be_silent();
    case CUT:
        return hand_on_half(line);
    case OLD:
        return hand_on_get(line);
    case FAIL:
        exit((int)strtol(rule.argument, NULL, 10));
    case STALE:
    case DIES:
    case DIES_AT:
    case UNKILLABLE:
        misused("FAKE_MODE: only daemons can do '%s'", what);
    default:
        answer(&rule);
        return 0;
    }
}

static int run_commands(void)
{
    char line[LINE_BYTES];
    int status = 0;
    while (status == 0 && fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        status = run_command(line);
    }
    return status;
}

static int run_version(void)
{
    log_line("version", "");
    const struct rule rule = find_rule("version");
    switch (rule.how) {
    case SLOW:
    case HOLD:
        delay(&rule);
        break;
    case PASS:
        break;
    case SILENT:
        be_silent();
    case FAIL:
        return (int)strtol(rule.argument, NULL, 10);
    case CUT:
        fputs("CUDA MPS Control for", stdout);
        return 0;
    default:
        answer(&rule);
        return 0;
    }
    execl(program, program, "-v", (char *)NULL);
    misused("cannot run '%s'", program);
}

/* -- daemons ----------------------------------------------------------------------------------- */

static int be_stale(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *directory = getenv("CUDA_MPS_PIPE_DIRECTORY");
    snprintf(address.sun_path, sizeof address.sun_path, "%s/control",
             directory != NULL ? directory : "/tmp/nvidia-mps");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) != 0)
        misused("cannot make '%s'", address.sun_path);
    fputs("An instance of this daemon is already running\n", stderr);
    return 1;
}

static unsigned count_clients(void)
{
    char text[4096], command[64];
    unsigned count = 0;
    if (ask("get_server_list", text, sizeof text) != 0 || !isdigit((unsigned char)text[0]))
        return 0;
    snprintf(command, sizeof command, "get_client_list %ld", strtol(text, NULL, 10));
    if (ask(command, text, sizeof text) != 0)
        return 0;
    for (const char *at = text; *at != '\0'; at++)
        count += *at == '\n';
    return count;
}

/* Runs the daemon as a child until it ends, or must be ended. */
static int watch_daemon(const struct rule *rule)
{
    sigset_t signals;
    uint64_t number = strtoull(rule->argument, NULL, 10);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGCHLD);
    /* A daemon that ends on SIGTERM would end the one that does not. */
    pid_t child = start_program("-f", 0, 1, rule->how == UNKILLABLE);
    uint64_t deadline_ns = rule->how == DIES ? clock_now_ns() + number * NS_PER_MS : UINT64_MAX;
    for (;;) {
        const struct timespec step = {.tv_nsec = 10 * (long)NS_PER_MS};
        int status, signal = sigtimedwait(&signals, NULL, &step);
        if (signal == SIGTERM && rule->how == UNKILLABLE)
            log_line("daemon-ignored", "SIGTERM");
        else if (signal == SIGTERM)
            kill(child, SIGTERM);
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (clock_now_ns() >= deadline_ns || (rule->how == DIES_AT && count_clients() >= number)) {
            log_line("daemon-died", "");
            kill(child, SIGKILL);
            status_of(child);
            return 1;
        }
    }
}

/* partitions: it was started with -S, which the emulated one does not have. */
static int run_daemon(const char *option, bool partitions)
{
    sigset_t signals;
    char options[16];
    snprintf(options, sizeof options, "%s%s", option, partitions ? " -S" : "");
    log_line("daemon", options);
    const struct rule rule = find_rule("daemon");
    switch (rule.how) {
    case OLD:
    case FAULTY:
    case CUT:
        misused("FAKE_MODE: no daemon can be like that");
    case SILENT:
        be_silent();
    case EMPTY:
        return 0;
    case FAIL:
        return (int)strtol(rule.argument, NULL, 10);
    case REPLY:
        say(stderr, rule.argument);
        return 1;
    case STALE:
        return be_stale();
    case DIES:
    case DIES_AT:
    case UNKILLABLE:
        sigemptyset(&signals);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGCHLD);
        sigprocmask(SIG_BLOCK, &signals, NULL);
        return watch_daemon(&rule);
    case SLOW:
    case HOLD:
        delay(&rule);
        break;
    default:
        answer(&rule);
        break;
    }
    execl(program, program, option, (char *)NULL);
    misused("cannot run '%s'", program);
}

int main(int argc, char **argv)
{
    const char *daemon = getenv("DAEMON"), *folder = getenv("MPSWEEP_BUILD_DIR");
    const char *option = argc > 1 ? argv[1] : "";
    if (daemon == NULL && folder == NULL)
        misused("neither DAEMON nor MPSWEEP_BUILD_DIR is set");
    if (daemon != NULL)
        snprintf(program, sizeof program, "%s", daemon);
    else
        snprintf(program, sizeof program, "%s/mpsweep-emulated-mps-control", folder);

    if (argc == 1)
        return run_commands();
    if (strcmp(option, "-f") == 0 || strcmp(option, "-d") == 0)
        return run_daemon(option, argc == 3 && strcmp(argv[2], "-S") == 0);
    if (strcmp(option, "-v") == 0 || strcmp(option, "--version") == 0)
        return run_version();
    execv(program, argv);
    misused("cannot run '%s'", program);
}

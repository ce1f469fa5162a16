/*
 * The command line: the only place that chooses a command and exits.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "common/child.h"
#include "common/text.h"
#include "files/written.h"
#include "orchestrator/commands/commands.h"
#include "orchestrator/commit.h"
#include "orchestrator/completion.h"
#include "orchestrator/console/color.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/console/report.h"
#include "orchestrator/help/help.h"

/* A command with what it calls takes less than half of it; threads get as much as the main one. */
#define STACK_KIB 1024

/* What a user who forgot '--' is to know. */
#define BEHIND "a program goes behind '--'"

/* The words of a command line, taken apart. */
struct call {
    const struct command *command;
    const char *program;   /* as it was called */
    const char **operands; /* ended by NULL */
    struct given_option *given;
    size_t operand_count, given_count;
    char **rest; /* NULL without '--' */
    bool help, help_all;
};

/* Reports an error of the words that command was given; NULL: of no command. */
static int report_usage(const struct command *command)
{
    if (command)
        status_record("%s (options: 'mpsweep %s --help')", status_text(), command->name);
    int result = report(STATUS_USAGE);
    return command && command->usage_exit ? command->usage_exit : result;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "--help-all") == 0 ||
           strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

/* What is meant for what stands behind '--' has a name that is unknown here. */
static enum status refuse_option(const struct command *command, const char *word)
{
    enum status status = word[1] == '-' ? command_unknown_option(command, word + 2)
                                        : status_set(STATUS_USAGE, "unknown option '%s'", word);
    const char *text = status_text();
    if (command->behind && *text)
        status_record("%s%s %s", text, text[strlen(text) - 1] == '?' ? "" : ";", command->behind);
    return status;
}

/* Takes one option at argv[*at], with its value from the same word or the next one. */
static enum status take_option(struct call *call, int argc, char **argv, int *at)
{
    char *word = argv[*at];
    const struct option_row *row;
    const char *text = NULL, *fixed = NULL;
    char form[256];
    if (word[1] == '-') {
        char *equals = strchr(word, '=');
        if (equals)
            *equals = '\0';
        row = command_option(call->command, word + 2, 0, &fixed);
        text = equals ? equals + 1 : NULL;
        if (!row && text && is_help(word))
            return status_set(STATUS_USAGE, "%s takes no value", word);
        if (!row)
            return refuse_option(call->command, word);
    } else {
        row = command_option(call->command, NULL, word[1], &fixed);
        if (!row)
            return refuse_option(call->command, word);
        if (word[2] && row->kind == OPTION_KIND_SWITCH)
            return status_set(STATUS_USAGE, "'%s': write short switches one by one", word);
        text = word[2] ? word + 2 : NULL;
    }
    if (row->kind == OPTION_KIND_SWITCH || fixed) {
        if (text)
            return status_set(STATUS_USAGE, "%s takes no value", word);
        text = fixed ? fixed : "yes";
    } else if (!text) {
        if (*at + 1 >= argc)
            return status_set(STATUS_USAGE, "%s needs a value: %s", word,
                              option_value_form(row, form, sizeof form));
        text = argv[++*at];
        if (strncmp(text, "--", 2) == 0 && command_option(call->command, text + 2, 0, &fixed))
            return status_set(STATUS_USAGE, "%s needs a value: %s; '%s' is an option", word,
                              option_value_form(row, form, sizeof form), text);
    }
    /* Which of two values was meant? */
    for (size_t i = 0; i < call->given_count && !option_adds_up(row); i++)
        if (call->given[i].row == row)
            return status_set(STATUS_USAGE, "--%s is given twice", row->name);
    call->given[call->given_count++] = (struct given_option){row, text};
    return STATUS_OK;
}

static enum status take_words(int argc, char **argv, int first, struct call *call)
{
    const struct command *command = call->command;
    bool options_end = false;
    for (int i = first; i < argc; i++) {
        char *word = argv[i];
        if (strcmp(word, "--") == 0 && command->flags & COMMAND_PROGRAM) {
            call->rest = argv + i + 1;
            if (!*call->rest && !(command->flags & COMMAND_AS_GIVEN))
                return status_set(STATUS_USAGE, "there is no program after '--'");
            break;
        }
        if (!options_end && strcmp(word, "--") == 0) {
            options_end = true;
        } else if (!options_end && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            call->help = true;
        } else if (!options_end && strcmp(word, "--help-all") == 0) {
            call->help = call->help_all = true;
        } else if (!options_end && word[0] == '-' && word[1]) {
            enum status status = take_option(call, argc, argv, &i);
            if (status != STATUS_OK)
                return status;
        } else if (command->flags & COMMAND_WRAPS) {
            call->rest = argv + i;
            break;
        } else if (call->operand_count == command->most) {
            const char *behind = command->behind ? command->behind : BEHIND;
            bool any = command->flags & COMMAND_PROGRAM;
            return status_set(STATUS_USAGE, "unexpected argument '%s'%s%s", word, any ? "; " : "",
                              any ? behind : "");
        } else {
            call->operands[call->operand_count++] = word;
        }
    }
    return STATUS_OK;
}

static enum status check_needs(const struct call *call, const struct options *options)
{
    char form[256];
    const struct command *command = call->command;
    size_t count = call->operand_count + (command->flags & COMMAND_WRAPS && call->rest);
    if (count < command->least)
        return status_set(STATUS_USAGE, "%s needs %s", command->name, command->needed);
    for (const enum option_id *id = command->needs; *id; id++) {
        const struct option_row *row = &option_table[*id];
        if (!options_text(options, *id))
            return status_set(STATUS_USAGE, "%s needs --%s %s", command->name, row->name,
                              option_value_form(row, form, sizeof form));
    }
    return STATUS_OK;
}

/* Tables are printed as the command's --format asks, words in colours as --color does. */
static void set_console(const struct command *command, const struct options *options)
{
    const struct option_row *row = option_find("format", (unsigned)command->bit);
    columns_set_markdown(row && row->kind == OPTION_KIND_CHOICE &&
                         strcmp(options_text(options, row->id), "markdown") == 0);
    color_choose(options_text(options, OPTION_COLOR));
}

static int run_invocation(const struct call *call, const struct job *job,
                          const struct options *options)
{
    const struct invocation invocation = {
        .program = call->program,
        .options = options,
        .job = job,
        .operands = call->operands,
        .operand_count = call->operand_count,
        .rest = call->rest,
        .given = call->given,
        .given_count = call->given_count,
    };
    set_console(call->command, options);
    return call->command->run(&invocation);
}

/* Results that the program would save are probably meant to be those of mpsweep. */
static void notice_output(char *const *command)
{
    const struct option_row *row = &option_table[OPTION_OUTPUT];
    for (; command && command[0] && command[1]; command++) {
        const char *word = command[0], *dot = strrchr(command[1], '.');
        bool is_output = (word[0] == '-' && word[1] == row->letter && !word[2]) ||
                         (strncmp(word, "--", 2) == 0 && strcmp(word + 2, row->name) == 0);
        char text[256];
        if (!is_output || !dot || strcmp(dot, ".jsonl") != 0)
            continue;
        snprintf(text, sizeof text,
                 "'%s %s' behind '--' is the program's: write it before '--' if results are to be "
                 "saved there",
                 word, command[1]);
        report_notice(text);
    }
}

/* What runs a program given in the place of a job file: "" or "python3 "; NULL: not a program. */
static const char *runner_of(const char *word)
{
    struct stat info;
    char path[PATH_MAX];
    const char *dot = strrchr(word, '.');
    bool is_file = stat(word, &info) == 0 && S_ISREG(info.st_mode);
    if (is_file ? access(word, X_OK) == 0 : child_find_program(word, path) == STATUS_OK)
        return "";
    return dot && strcmp(dot, ".py") == 0 ? "python3 " : NULL;
}

/* Runs a command of a job: the file, and the command line above it. */
static int run_job(const struct call *call)
{
    struct job job;
    enum status status = job_load(call->operands[0], &job);
    if (status != STATUS_OK) {
        struct status_saved reason;
        const char *word = call->operands[0];
        status_save(status, &reason);
        const char *runner = word ? runner_of(word) : NULL;
        status_restore(&reason);
        if (runner)
            status_record("%s; " BEHIND ": -- %s%s", reason.text, runner, word);
        return report(status);
    }
    if (job.empty) {
        char text[PATH_MAX + 80];
        snprintf(text, sizeof text,
                 "'%s' has nothing in it: the default plan runs, with the options given here",
                 call->operands[0]);
        report_notice(text);
    }
    job.command = call->rest;
    notice_output(call->rest);
    for (size_t i = 0; i < call->given_count && status == STATUS_OK; i++)
        status = job_set(&job, call->given[i].row, call->given[i].text);
    int result = status == STATUS_OK ? run_invocation(call, &job, &job.sections[0].options)
                                     : report_usage(call->command);
    job_release(&job);
    return result;
}

static int run_plain(const struct call *call)
{
    struct options options;
    enum status status = options_init(&options);
    if (status != STATUS_OK)
        return report_usage(call->command);
    for (size_t i = 0; i < call->given_count && status == STATUS_OK; i++)
        if (!(call->command->flags & COMMAND_AS_GIVEN))
            status = options_set(&options, call->given[i].row, call->given[i].text,
                                 JOB_RANK_COMMAND_LINE);
    if (status == STATUS_OK)
        status = check_needs(call, &options);
    int result =
        status == STATUS_OK ? run_invocation(call, NULL, &options) : report_usage(call->command);
    options_release(&options);
    return result;
}

static int run_command(const struct command *command, int argc, char **argv, int first)
{
    struct call call = {.command = command, .program = argv[0]};
    int result = EXIT_ALL_MEASURED;
    call.given = calloc((size_t)argc, sizeof *call.given);
    call.operands = calloc((size_t)argc, sizeof *call.operands);
    enum status status = call.given && call.operands ? take_words(argc, argv, first, &call)
                                                     : status_set(STATUS_MEMORY, "out of memory");
    if (status != STATUS_OK)
        result = report_usage(command);
    else if (call.help)
        help_print_command(stdout, command, call.help_all);
    else if (command->flags & COMMAND_JOB)
        result = run_job(&call);
    else
        result = run_plain(&call);
    free(call.given);
    free(call.operands);
    return result;
}

/* Prints what help knows of the words as they are spelled. False: nothing. */
static bool print_help_of(FILE *out, int count, char **words)
{
    char all[128] = "";
    struct text text = {.at = all, .size = sizeof all};
    if (count > 1 && is_help(words[count - 1]))
        count--;
    for (int i = 0; i < count; i++)
        text_append(&text, "%s%s", i > 0 ? " " : "", words[i]);
    const struct command *command = command_find(all);
    if (command)
        help_print_command(out, command, false);
    else if (count == 0)
        help_print(out, HELP_MAIN);
    else if (count == 1 && command_is_family(words[0]))
        help_print(out, words[0]);
    else
        return help_print_word(out, all);
    return true;
}

/* The first word behind those that help knows; NULL: it knows none of them. */
static const char *find_unexpected(int count, char **words)
{
    struct text_stream unseen;
    if (!text_stream_open(&unseen))
        return NULL;
    int known = count - 1;
    while (known > 0 && !print_help_of(unseen.file, known, words))
        known--;
    free(text_stream_close(&unseen));
    /* Behind the name of a family stands the rest of a command's. */
    return known > 1 || (known == 1 && !command_is_family(words[0])) ? words[known] : NULL;
}

static void make_lower(char *text)
{
    for (; *text; text++)
        *text = (char)tolower((unsigned char)*text);
}

/* Prints the help of the words: nothing, a command, a family of commands, or what an option or a
 * value is; or a manual page. Letters of any case do where the words as they are do not. */
static int print_help(int count, char **words)
{
    char name[64];
    if (count > 0 && strcmp(words[0], "--manual") == 0) {
        const char *page = count > 1 ? words[1] : HELP_MAIN;
        return help_print_manual(stdout, page) ? EXIT_ALL_MEASURED : report(command_unknown(page));
    }
    snprintf(name, sizeof name, "%s%s%s", count > 0 ? words[0] : "", count > 1 ? " " : "",
             count > 1 ? words[1] : "");
    if (print_help_of(stdout, count, words))
        return EXIT_ALL_MEASURED;
    const char *unexpected = find_unexpected(count, words);
    enum status status = unexpected
                             ? status_set(STATUS_USAGE, "unexpected argument '%s'", unexpected)
                         : count == 1 ? command_unknown_word(name)
                                      : command_unknown(name);
    bool is_letter = words[0][0] == '-' && words[0][1] != '-';
    for (int i = 0; i < count; i++)
        make_lower(words[i]);
    return !is_letter && print_help_of(stdout, count, words) ? EXIT_ALL_MEASURED : report(status);
}

static int print_version(int count, char **words)
{
    char word[] = "version", *topic[] = {word};
    if (count == 1 && is_help(words[0]))
        return print_help(1, topic);
    if (count > 0)
        return report(status_set(STATUS_USAGE, "unexpected argument '%s'", words[0]));
    puts(PACKAGE_STRING);
    printf("commit   %s\n", strcmp(BUILD_COMMIT, "-") != 0 ? BUILD_COMMIT : "not known");
    printf("CUDA     %s\n", BUILD_CUDA);
    printf("kernels  %s\n", BUILD_KERNELS);
    printf("servers  %s\n", BUILD_SERVERS);
    return EXIT_ALL_MEASURED;
}

/* Prints a shell's script, or what it asks for: the candidates for the last word behind "--". */
static int print_completion(int count, char **words)
{
    char word[] = "completion", *topic[] = {word};
    if (count == 1 && is_help(words[0]))
        return print_help(1, topic);
    if (count > 0 && strcmp(words[0], "--") == 0)
        completion_print(stdout, count - 1, words + 1);
    else if (count != 1 || !completion_print_script(stdout, words[0]))
        return report(status_set(STATUS_USAGE, "completion needs one of bash|zsh|fish"));
    return EXIT_ALL_MEASURED;
}

static int run_program(int argc, char **argv)
{
    char name[64];
    bool family = argc > 1 && command_is_family(argv[1]);
    if (argc < 2 || (family && argc < 3)) {
        help_print(stderr, family ? argv[1] : HELP_MAIN);
        return EXIT_BAD_SETUP;
    }
    if (strcmp(argv[1], "completion") == 0)
        return print_completion(argc - 2, argv + 2);
    if (is_help(argv[1]))
        return print_help(argc - 2, argv + 2);
    if (family && is_help(argv[2]))
        return print_help(1, argv + 1);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 ||
        strcmp(argv[1], "version") == 0)
        return print_version(argc - 2, argv + 2);
    snprintf(name, sizeof name, "%s%s%s", argv[1], family ? " " : "", family ? argv[2] : "");
    const struct command *command = command_find(name);
    if (!command)
        return report(command_unknown(name));
    int first = family ? 3 : 2;
    /* A file of that name comes first. */
    if (argc == first + 1 && strcmp(argv[first], "help") == 0 && access("help", F_OK) != 0)
        return print_help(first - 1, argv + 1);
    return run_command(command, argc, argv, first);
}

/* With too small a stack, a command would end by SIGSEGV in the middle of its work. */
static enum status check_stack(void)
{
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= STACK_KIB * 1024)
        return STATUS_OK;
    return status_set(STATUS_USAGE,
                      "the stack is limited to %llu KiB: mpsweep needs %d ('ulimit -s %d')",
                      (unsigned long long)stack.rlim_cur / 1024, STACK_KIB, STACK_KIB);
}

/* Why standard output took nothing, as errno; 0: not known. stdio keeps no reason of a write that
 * failed before. */
static int find_lost_reason(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (poll(&out, 1, 0) > 0 && out.revents & POLLERR)
        return EPIPE;
    return write(STDOUT_FILENO, "", 0) < 0 ? errno : 0;
}

/* Lost output is an error, unless its reader had enough. */
static int end_output(int result)
{
    unsigned count;
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return result;
    int reason = errno ? errno : find_lost_reason();
    if (reason == EPIPE)
        return result;
    const char *names = written_names(&count);
    return report(status_set(STATUS_SYSTEM, "cannot write standard output%s%s%s%s%s",
                             reason ? ": " : "", reason ? strerror(reason) : "",
                             count > 0 ? "; " : "", names,
                             count == 0  ? ""
                             : count > 1 ? " were written"
                                         : " was written"));
}

/* A closed standard descriptor would be given to the next file opened, and what is printed would go
 * there. Standard output stays one that cannot be written: what it lacks is an error. */
static bool open_closed(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) < 0)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    if (!open_closed())
        return EXIT_BAD_SETUP;
    /* A reader that goes away, or a full disk under a size limit, is an error of the write. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    if (check_stack() != STATUS_OK)
        return report(STATUS_USAGE);
    /* In one piece where there is no terminal, so that a failure appears where it can be reported.
     */
    if (!isatty(STDOUT_FILENO))
        setvbuf(stdout, NULL, _IOFBF, 1 << 20);
    return end_output(run_program(argc, argv));
}

/*
 * Families of programs for tests/accuracy/iterations, and what a program can do there: it calls the
 * driver under an observer, on a clock that is simulated.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FAMILIES 13
#define PARAMETERS 12

struct family {
    const char *name;
    void (*draw)(void);               /* of a program's parameters, once */
    void (*iterate)(unsigned number); /* some of its work, which calls tick() */
};

extern const struct family families[FAMILIES];
extern unsigned p[PARAMETERS]; /* of the program; what each means its family knows */

extern uint64_t now_ns;

/* Draw from a program's own sequence; of draw_scale() numbers are as likely to be small as large.
 */
unsigned draw(unsigned least, unsigned most);
unsigned draw_scale(unsigned least, unsigned most);
bool chance(unsigned percent);

/* The host does something else for about that long. */
void pass(uint64_t ns);

void copy_in(uint64_t bytes);

/* Copies a result, and waits for it. */
void copy_out(uint64_t bytes);

/* Launch kernels, of which nothing is known, or those of a model (from 1 on); or a graph that takes
 * about that long. */
void launch(unsigned count);
void launch_of(unsigned model, unsigned count);
void launch_graph(unsigned ns);

/* An iteration of the program's own has ended. */
void tick(void);

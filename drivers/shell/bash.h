/*
 * The live bash beside the driver.
 *
 * Theory of operation. bash reads its script from a pipe of one slot: each step is one line in it,
 * followed by a space. The pipe can be written again when bash has read the space, that is, when
 * the line has run; what user code does to descriptors, functions or traps cannot hide that. Code,
 * scripts and reports are files (memory_file.h), which bash opens by their names in the driver's
 * /proc/PID/fd, so that no descriptor of ours is open in bash or in what it starts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/moment.h"
#include "process.h"
#include "state.h"

#include <stdbool.h>
#include <sys/types.h>

enum bash_end {
	BASH_RAN,    /* the line has run, the state is taken */
	BASH_LARGE,  /* the same, but the state is too large to take */
	BASH_FULL,   /* there is no room for what it takes: all is as it was */
	BASH_LOST,   /* the line is over without a report: the shell cannot be used any more */
	BASH_EXITED, /* the shell has ended and left its state */
	BASH_DIED,   /* the shell has ended without one: exec, a signal, a trap of its own */
	BASH_LATE,   /* it took longer than it may */
	BASH_GONE,   /* the engine is gone */
};

/*
 * A redirection for a group of commands: the line after it is the one after line @number. A command
 * puts the number back when it is over; this assignment is outside of all.
 */
#define BASH_NEXT_LINE(number) "<\"/dev/null${LINENO:0:0&(LINENO=" number ")}\""

struct bash {
	pid_t pid; /* 0: none */
	int wait_status;
	int pipe_fds[2];
	int code_fd, script_fd, report_fd, traps_fd, hook_fd;
	int stdin_fd; /* what the next step reads, or -1 */
	bool had_stdin;
	void (*waits)(void *arg); /* the step waits for what that pipe does not have yet; or NULL */
	void *waits_arg;
	int signal_fd, channel_fd;
	bool is_step;	      /* user code runs: interrupts are passed on */
	struct moment begin;  /* of the step */
	bool was_interrupted; /* since bash_drop_signals() */
	struct state state;
	struct process process; /* the shell as it was when the state was taken */
	struct buf limits;	/* likewise: commands that restore them */
	unsigned n_own;		/* descriptors that it had at its start */
	char exit_hook[160];	/* a quoted word: what the EXIT trap begins with */
	char *home;		/* where the first shell starts */
};

/* No shell yet. @signal_fd: a signalfd of SIGCHLD and SIGINT, both blocked. */
int bash_init(struct bash *b, int signal_fd, int channel_fd);

/*
 * Start a shell with @script (which restores a state), in an empty environment, or as the first
 * one, in the driver's, when @script is NULL. Any shell before is killed. Blocks:  a few
 * milliseconds; at most START_MS.
 */
enum bash_end bash_start(struct bash *b, const struct buf *script);

/* Forget the interrupts that have come so far. */
void bash_drop_signals(struct bash *b);

/* Run @code at top level. Blocks: until it is over. An interrupt of the driver is passed on. */
enum bash_end bash_run(struct bash *b, const char *code, size_t bytes);

/*
 * Run commands of the driver's own, on one line, at most @limit_ms; what they print (by `>`) is in
 * the report file.
 */
enum bash_end bash_ask(struct bash *b, const char *commands, int limit_ms);

/* Read the report file. */
int bash_report(const struct bash *b, struct buf *out);

/* Is @pid a child of the shell? */
bool bash_is_child(const struct bash *b, pid_t pid);

void bash_kill(struct bash *b);

/* Let the shell end by itself, with its EXIT trap. Blocks: at most @limit_ms. */
void bash_finish(struct bash *b, int limit_ms);

/*
 * Pass SIGINT to group @group and, of job control, to the groups of those children of its leader
 * that are newer than @since (NULL: of all): the jobs of earlier steps go on.
 */
void bash_interrupt(pid_t group, const struct moment *since);

/* In a child: signals as a program expects them, and death with the driver. */
void bash_child(void);

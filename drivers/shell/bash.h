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
	BASH_RAN,    /* the line has run, and the state was recorded */
	BASH_LARGE,  /* the line has run, but the state is too large to record */
	BASH_FULL,   /* there is no disk space for the files: nothing was run */
	BASH_LOST,   /* the line ended without a report: the shell is unusable */
	BASH_EXITED, /* the shell has exited and left a report */
	/* The shell has ended without a report: exec, a signal, or the user's own EXIT trap */
	BASH_DIED,
	BASH_LATE, /* the time limit was reached */
	BASH_GONE, /* the engine has closed the channel */
};

/*
 * A redirection for a group of commands, by which the next line gets the number @number + 1. A
 * command restores LINENO at its end, but an assignment within a redirection of the group is
 * outside of all commands.
 */
#define BASH_NEXT_LINE(number) "<\"/dev/null${LINENO:0:0&(LINENO=" number ")}\""

struct bash {
	pid_t pid; /* 0: no shell is running */
	int wait_status;
	int pipe_fds[2];
	int code_fd, script_fd, report_fd, traps_fd, hook_fd;
	int stdin_fd; /* standard input of the next step, or -1 */
	bool had_stdin;
	/* Called when the step waits for input that the pipe lacks; or NULL */
	void (*waits)(void *arg);
	void *waits_arg;
	int signal_fd, channel_fd;
	bool is_step;	      /* user code is running: pass on interrupts */
	struct moment begin;  /* start of the step */
	bool was_interrupted; /* since bash_drop_signals() */
	struct state state;
	struct process process; /* kernel state of the shell when its report was recorded */
	struct buf limits;	/* commands that restore its limits, recorded likewise */
	unsigned n_own;		/* the number of descriptors that it had at its start */
	char exit_hook[160];	/* a quoted word: the start of the EXIT trap */
	char *home;		/* start directory of the first shell */
};

/* Initialize without a shell. @signal_fd: a signalfd of SIGCHLD and SIGINT, both blocked. */
int bash_init(struct bash *b, int signal_fd, int channel_fd);

/*
 * Start a shell, after killing the one before. With @script, which restores a state, it starts
 * with an empty environment; when @script is NULL it is the first one and gets the driver's
 * environment.
 * Blocks: some milliseconds; at most START_MS.
 */
enum bash_end bash_start(struct bash *b, const struct buf *script);

/* Forget interrupts that have arrived. */
void bash_drop_signals(struct bash *b);

/* Run @code at top level. Passes on interrupts of the driver. Blocks: until the code has ended. */
enum bash_end bash_run(struct bash *b, const char *code, size_t bytes);

/*
 * Run the driver's own commands, on one line, for at most @limit_ms. Their output, redirected by
 * `>`, is in the report file.
 */
enum bash_end bash_ask(struct bash *b, const char *commands, int limit_ms);

/* Read the report file. */
int bash_report(const struct bash *b, struct buf *out);

/* Is @pid a child of the shell? */
bool bash_is_child(const struct bash *b, pid_t pid);

void bash_kill(struct bash *b);

/* Let the shell exit by itself, with its EXIT trap. Blocks: at most @limit_ms. */
void bash_finish(struct bash *b, int limit_ms);

/*
 * Send SIGINT to the process group @group. With job control, also to the groups of its leader's
 * children that are newer than @since (NULL: all of them): jobs of earlier steps continue.
 */
void bash_interrupt(pid_t group, const struct moment *since);

/*
 * Called in a child: default signal mask, a session of its own, and SIGKILL when the driver ends.
 */
void bash_child(void);

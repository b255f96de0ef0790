/*
 * The bash process that runs the steps of a session beside the driver.
 *
 * Theory of operation. bash reads its script from a pipe that has room for a single write. The
 * driver writes each step as one line, followed by a space. When bash has read the space, it has
 * run the line, and the pipe becomes writable again: that is how the driver learns that the step
 * has ended. User code cannot disturb this, whatever it does to descriptors, functions or traps.
 *
 * Code, scripts and reports are files (memory_file.h). bash opens them by their names in the
 * driver's /proc/PID/fd. So no descriptor of ours is open in bash or in the programs that it
 * starts.
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
	BASH_RAN,    /* the line was run, and the state was recorded */
	BASH_LARGE,  /* the line was run, but the state is too large to record */
	BASH_FULL,   /* nothing was run, because the disk has no space for the files */
	BASH_LOST,   /* the line was run, but wrote no report: the shell is unusable */
	BASH_EXITED, /* the shell has exited and left a report */
	/* The shell ended without a report, through exec, a signal, or the user's own EXIT trap */
	BASH_DIED,
	BASH_LATE, /* the time limit was reached before the line ended */
	BASH_GONE, /* the engine closed the channel */
};

/*
 * A redirection to put after a group of commands: bash then gives the next line the number
 * @number + 1. It must be a redirection, because bash restores LINENO at the end of each command,
 * and so would undo a plain assignment.
 */
#define BASH_NEXT_LINE(number) "<\"/dev/null${LINENO:0:0&(LINENO=" number ")}\""

struct bash {
	pid_t pid; /* process id of the shell, 0 if none is running */
	int wait_status;
	int pipe_fds[2];
	int code_fd, script_fd, report_fd, traps_fd, hook_fd;
	int back_fd;  /* the script that sets the variables of the step back */
	int stdin_fd; /* read end of the next step's standard input, or -1 */
	bool had_stdin;
	/* Environment variables of the next step, borrowed: an object of texts; or NULL */
	const json_t *env;
	/* Called when a process of the step waits for input and the pipe is empty; or NULL */
	void (*waits)(void *arg);
	void *waits_arg;
	int signal_fd, channel_fd;
	bool is_step;	      /* user code is running, so interrupts are passed on to it */
	struct moment begin;  /* when the step began */
	bool was_interrupted; /* SIGINT has arrived since bash_drop_signals() */
	struct state state;
	/* what /proc showed of the shell when the shell's last report was taken */
	struct process process;
	/* `ulimit` commands that restore the limits that the shell had at that time */
	struct buf limits;
	unsigned n_own;	     /* number of descriptors that the shell had when it was started */
	char exit_hook[160]; /* the driver's part of the EXIT trap, as a quoted word */
	char *home;	     /* the directory in which a shell without a state starts */
};

/*
 * Initialize @b; no shell is started. @signal_fd is a signalfd of SIGCHLD and SIGINT, which the
 * caller has blocked. Returns: 0, or negative errno.
 */
int bash_init(struct bash *b, int signal_fd, int channel_fd);

/*
 * Start a shell, and kill the running one before that. @script restores a state; the shell then
 * starts with an empty environment. If @script is NULL, the shell starts without a state and with
 * the driver's environment.
 * Blocks: some milliseconds; at most START_MS.
 */
enum bash_end bash_start(struct bash *b, const struct buf *script);

/* Forget the interrupts that have arrived so far. */
void bash_drop_signals(struct bash *b);

/*
 * Run @code at top level, as a user's script would run. Interrupts of the driver are passed on to
 * the code.
 * Blocks: until the code has ended.
 */
enum bash_end bash_run(struct bash *b, const char *code, size_t bytes);

/*
 * Run @commands of the driver itself, on one line, for at most @limit_ms. They may redirect output
 * to the report file, for bash_report().
 */
enum bash_end bash_ask(struct bash *b, const char *commands, int limit_ms);

/* Append the content of the report file to @out. Returns: 0. */
int bash_report(const struct bash *b, struct buf *out);

/* Return whether @pid is a child of the shell. */
bool bash_is_child(const struct bash *b, pid_t pid);

void bash_kill(struct bash *b);

/*
 * End the shell: let it run its EXIT trap and exit, and kill it after @limit_ms. Blocks: at most
 * @limit_ms.
 */
void bash_finish(struct bash *b, int limit_ms);

/*
 * Send SIGINT to the process group @group, which is led by a shell. If job control is on, the
 * shell's children are in groups of their own. They get SIGINT too, if they are newer than @since:
 * jobs of earlier steps continue. If @since is NULL, all of them get it.
 */
void bash_interrupt(pid_t group, const struct moment *since);

/*
 * Prepare a child process for exec: unblock all signals, give it a session of its own, and have it
 * killed when the driver ends.
 */
void bash_child(void);

/* Declarations shared by the files of `retort repl`. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/service.h"
#include "cli/repl/answer.h"
#include "cli/approver.h"
#include "cli/box.h"
#include "cli/session/copy.h"
#include "cli/repl/magic.h"
#include "cli/repl/reader.h"
#include "cli/view.h"

#include <limits.h>
#include <stdbool.h>

enum { REPL_SESSION_BYTES = 80, REPL_NAME_BYTES = 32 };

struct repl_args {
	struct box_args box;
	const char *tools, *out;
	bool no_history, quiet, help;
	int images, color;
};

struct repl {
	struct repl_args args;
	struct opt_set set;
	struct service *service;
	struct reader reader;
	struct approver approver;
	struct answer answer;
	bool can_ask;
	struct view view;
	int out_fd;	/* directory of --out, or -1 */
	json_t *create; /* parameters of session.create, for %reset */
	char session[REPL_SESSION_BYTES], name[REPL_SESSION_BYTES], runtime[REPL_NAME_BYTES];
	char history[PATH_MAX];
	bool is_leaving;
	bool is_branched; /* the prompt shows the session's name */
	int failures;	  /* number of failed statements */
	bool is_gone;	  /* no more steps can run */
	int ended_by;	  /* signal that ends the REPL, or 0 */
};

/* Call an operation of this process's engine. Owns: @params is taken, *@result is the caller's. */
int repl_call(
	struct repl *repl, const char *method, json_t *params, json_t **result, struct err *err);

/* Create a session with the parameters `create`, and use it. */
int repl_create(struct repl *repl, struct err *err);

/* Run a statement and show its result. */
void repl_step(struct repl *repl, const char *code, bool with_time);

/* Execute a command, a line for which magic_is() is true, and report its errors. */
void repl_command(struct repl *repl, const char *line);

/* Return the functions that copy files between the host and the current session. Borrows @repl. */
struct copy_from repl_copy(struct repl *repl);

/* Return completions of a command at the end of @text, in the form of step.complete; or NULL. */
json_t *repl_complete_command(struct repl *repl, const char *text);

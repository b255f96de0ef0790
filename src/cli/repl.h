/* What the files of `retort repl` share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/service.h"
#include "cli/answer.h"
#include "cli/approver.h"
#include "cli/box.h"
#include "cli/copy.h"
#include "cli/magic.h"
#include "cli/reader.h"
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
	int out_fd;	/* of --out, or -1 */
	json_t *create; /* the parameters of session.create, for %reset */
	char session[REPL_SESSION_BYTES], name[REPL_SESSION_BYTES], runtime[REPL_NAME_BYTES];
	char history[PATH_MAX];
	bool is_leaving;
	bool is_branched; /* the name of the session is of interest */
	int failures;	  /* statements that did not go well */
	bool is_gone;	  /* no step can run any more */
	int ended_by;	  /* a signal, or 0 */
};

/* Call an operation of the engine in this process. Owns: @params is taken, *@result is the
 * caller's. */
int repl_call(
	struct repl *repl, const char *method, json_t *params, json_t **result, struct err *err);

/* Make the session that `create` says, and go on in it. */
int repl_create(struct repl *repl, struct err *err);

/* Run a statement and show what comes of it. */
void repl_step(struct repl *repl, const char *code, bool with_time);

/* Do what a line that magic_is() says, and tell what is wrong with it. */
void repl_command(struct repl *repl, const char *line);

/* Files go from and to the session that is in use. Borrows @repl. */
struct copy_from repl_copy(struct repl *repl);

/* What may stand at the end of @text, a command: as step.complete answers; NULL. */
json_t *repl_complete_command(struct repl *repl, const char *text);

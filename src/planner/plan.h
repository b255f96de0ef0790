/* Read, check and run plans: the operations behind `retort plan`. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct plan_stop;

enum plan_dialect { PLAN_DIALECT_PLAN, PLAN_DIALECT_STARLARK };

/* The exit status of `retort plan run`. */
enum plan_status {
	PLAN_OK = 0,
	PLAN_FAILED = 1,
	PLAN_INVALID = 2,
	PLAN_NO_KEY = 3, /* a server or the model needs a key */
	PLAN_LOST = 4,	 /* a server or the model did not respond */
	PLAN_DENIED = 6
};

/* The request of any subcommand of `retort plan`. All pointers are borrowed. A limit of 0 means the
 * default. */
struct plan_request {
	const char *path; /* file of the plan; "-" for standard input */
	enum plan_dialect dialect;
	/* has_while: allow while loops. has_recursion: allow recursive functions. */
	bool has_while, has_recursion;
	uint64_t fuel, memory_bytes;
	void *arg;
	/* Write output of the plan as it is printed. Returns: 0, or -1 if it cannot be written. */
	int (*print)(void *arg, const char *text, size_t bytes);
	/*
	 * These members are only for plans with tools, see plan_run.h. A member that is not given
	 * is NULL. If policy_path is NULL, the annotations of the tools decide. `request` is the
	 * text of the user's request.
	 */
	const char *tools_path, *policy_path, *request, *record_path, *resume_path;
	/* How messages refer to the text of tools. If NULL, messages name the file that contains
	 * the text, or "tools" if the text is not from a file. */
	const char *tools_name;
	/* `model` is the model that answers ask(), and `key_file` the file that contains its
	 * key; see agent/wire/model.h. If `model` is NULL, ask() gets a prepared answer from the
	 * text of tools. If that text is a list of servers, it has no prepared answers, and
	 * ask() fails. */
	const char *model, *key_file;
	/* Whether the run may start the servers that the text of tools lists, and may ask the
	 * model. If the member `is_text` is false, the run may do both, and this member is
	 * ignored. */
	bool may_start;
	bool is_again; /* if the record ends within a call, make this call again */
	/* SIGINT and SIGTERM end a wait for a server or for the model. The wait then fails with
	 * ERR_INTERRUPTED. */
	bool has_signals;
	/* Lets another thread cancel the plan; NULL if no thread needs to. */
	struct plan_stop *stop;
	bool is_json;	   /* write diagnostics as JSON */
	bool is_explained; /* report every label and policy answer of a check */
	bool is_text;	   /* path, tools_path and policy_path contain the texts themselves */
	/*
	 * Ask a person to approve @text. Returns: 1 for yes; 0 for no; -1 if nobody can be asked.
	 * The answer 2 is also possible if the member `can_see_each` is true and the check asks,
	 * before the run, about what it could not prove. It means: yes, but ask again at each call.
	 */
	int (*approve)(void *arg, const char *text);
	bool can_see_each;
	/* Return whether the caller has approved @tool in advance. Called when the policy demands
	 * approval, before `approve` is called. May be NULL. */
	bool (*may_call)(void *arg, const char *tool);
};

/*
 * Run the plan. If it has tools, every flow is checked first. *report gets the diagnostics.
 *
 * Owns:    the caller frees *report with buf_done().
 * Blocks:  until the plan has ended, at the latest when its fuel is used up.
 * Returns: enum plan_status, or negative errno if a file cannot be read.
 * Errors:  ERR_NOT_FOUND, ERR_ACCESS, ERR_LIMIT, ERR_IO, ERR_NO_MEMORY.
 */
int plan_perform(const struct plan_request *req, struct buf *report, struct err *err);

/* Copy the text @what to @out. If @is_text is false, @what is the name of a file, whose text is
 * read. */
int plan_take(const char *what, bool is_text, struct buf *out, struct err *err);

/* Read a whole file, or standard input if @path is "-". Returns: 0, or negative errno as
 * plan_perform(). */
int plan_read(const char *path, struct buf *out, struct err *err);

/* Read a whole regular file. Other kinds of files are refused, because the engine would wait for a
 * FIFO. */
int plan_read_regular(const char *path, struct buf *out, struct err *err);

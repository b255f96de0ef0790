/* A job: the work on one tool call. It starts operations one after the other, and ends with the
 * response. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "serve/mcp/call.h"
#include "serve/mcp/tools.h"

#include <uv.h>

struct mcp_job;
struct mcp_beat;
typedef void mcp_next_fn(struct mcp_job *job, const json_t *result, const struct err *err);

enum { MCP_LINE_BYTES = 200 };

struct mcp_job {
	struct mcp_call *call;
	struct mcp_tools *tools;
	const struct operation_context *context;
	json_t *arguments;	   /* the arguments, checked and with default values */
	struct operation_call *op; /* the current operation */
	mcp_next_fn *next;
	void (*then)(struct mcp_job *job);
	struct mcp_beat *beat;
	bool is_cancelled;
	/* The call has started a run, so cancelling the call interrupts the run. */
	bool is_own_run;
	bool is_new;	  /* the job has created its session */
	size_t n_decided; /* number of approvals whose decision was passed on (ask.c) */
	char *text;	  /* text that the tool's handler keeps; freed with the job */
	/* What the tool's handler keeps; freed with @own_free when the job ends. NULL: nothing. */
	void *own;
	void (*own_free)(void *own);
	/* Called after the call was cancelled, with the result of the operation that was running,
	 * if it has one. It may start more operations, whose results it gets, too. At the end it
	 * ends the job. NULL: the job ends with its current operation. */
	mcp_next_fn *stop;
	char line[MCP_LINE_BYTES]; /* the beginning of the last printed line */
	size_t line_bytes;
	bool is_line_whole;
};

/* Create a job. Check the arguments of the call against @rows, each of which describes a parameter.
 * Start an engine if none runs. Returns: NULL after an error response was sent. */
struct mcp_job *mcp_job_new(struct mcp_call *call, const struct param *rows, size_t n_rows);
/* Create a job for the call of a tool, as mcp_job_new() does. The arguments are checked against the
 * parameters of the called tool, as listed in the table of tools (tool_table.h). */
struct mcp_job *mcp_job_of_tool(struct mcp_call *call);
/* Return the argument "session", or "default" if it is missing. */
const char *mcp_job_session(const struct mcp_job *job);

/* Start an operation. Its result or error is passed to @next. Owns: takes @params. */
void mcp_job_do(struct mcp_job *job, const char *operation, json_t *params, mcp_next_fn *next);

/* Create the session that the arguments name, set `is_new`, and call @then. On failure, end the job
 * with the error. */
void mcp_job_create(struct mcp_job *job, void (*then)(struct mcp_job *job));

/* Return whether a session may be created under the name in the arguments. A name that begins with
 * "s-" is the id of a session that does not exist. Creating a session for it would hide this
 * mistake of the client. */
bool mcp_job_may_create(const struct mcp_job *job);

/* Keep the beginning of the last line of @text. Progress notifications show it. */
void mcp_job_show(struct mcp_job *job, const char *text, size_t bytes);
/* Send a progress notification every five seconds until the job ends, if the client wants them. */
void mcp_job_beat(struct mcp_job *job);

/* mcp_job_give() ends the job with a result; mcp_job_refuse() with an error as text for the model;
 * mcp_job_no_resource() with the protocol's error for a resource that does not exist. */
void mcp_job_give(struct mcp_job *job, json_t *result);
void mcp_job_refuse(struct mcp_job *job, const struct err *err);
void mcp_job_no_resource(struct mcp_job *job);
/* End the job by sending requests to the client: see mcp_call_ask(). */
void mcp_job_ask(struct mcp_job *job, json_t *requests, json_t *state);

/* Wait for a run, and end the job with the run's record. If the wait times out, the record has
 * the status "running". */
void mcp_job_await(struct mcp_job *job, const char *run);

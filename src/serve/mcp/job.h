/* A tool at work: operations one after the other, then the answer. SPDX-License-Identifier:
 * Apache-2.0 */
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
	json_t *arguments;	   /* as the rows have them */
	struct operation_call *op; /* under way */
	mcp_next_fn *next;
	void (*then)(struct mcp_job *job);
	struct mcp_beat *beat;
	bool is_cancelled;
	bool is_own_run;	   /* given up, the code is interrupted */
	bool is_new;		   /* a session was made for it */
	size_t n_decided;	   /* of what a person was asked */
	char *text;		   /* of the one at work; freed with it */
	char line[MCP_LINE_BYTES]; /* the last that was printed */
	size_t line_bytes;
	bool is_line_whole;
};

/*
 * Check the arguments by @rows and get an engine. Returns: NULL, and the call has been answered.
 */
struct mcp_job *mcp_job_new(struct mcp_call *call, const struct param *rows, size_t n_rows);
/* The same by the rows of the tool that is called. */
struct mcp_job *mcp_job_of_tool(struct mcp_call *call);
/* Of the arguments; "default" when there is none. */
const char *mcp_job_session(const struct mcp_job *job);

/* Do an operation; @next hears of it. Owns: takes @params. */
void mcp_job_do(struct mcp_job *job, const char *operation, json_t *params, mcp_next_fn *next);

/* Make the session that the arguments name, then go on; is_new is set. */
void mcp_job_create(struct mcp_job *job, void (*then)(struct mcp_job *job));

/* Tell the client about every five seconds that it still goes on. */
void mcp_job_beat(struct mcp_job *job);

/* The end: the answer, or what went wrong as the model is to read it. */
void mcp_job_give(struct mcp_job *job, json_t *result);
void mcp_job_refuse(struct mcp_job *job, const struct err *err);
void mcp_job_no_resource(struct mcp_job *job);
/* Or a question to the client, mcp_call_ask(). */
void mcp_job_ask(struct mcp_job *job, json_t *requests, json_t *state);

/* Wait for a run; the end of the job is its record. */
void mcp_job_await(struct mcp_job *job, const char *run);

/* The execution of a tool: operations one after the other, then the answer.
 * SPDX-License-Identifier: Apache-2.0 */
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
	json_t *arguments;	   /* with the names of the rows */
	struct operation_call *op; /* the current operation */
	mcp_next_fn *next;
	void (*then)(struct mcp_job *job);
	struct mcp_beat *beat;
	bool is_cancelled;
	bool is_own_run;	   /* if the call is cancelled, the code is interrupted */
	bool is_new;		   /* a session was made for it */
	size_t n_decided;	   /* approvals that were decided */
	char *text;		   /* scratch text of the tool; freed with the job */
	char line[MCP_LINE_BYTES]; /* the last printed line */
	size_t line_bytes;
	bool is_line_whole;
};

/* Check the arguments by @rows, and open an engine if necessary. Returns: NULL: the call was
 * answered. */
struct mcp_job *mcp_job_new(struct mcp_call *call, const struct param *rows, size_t n_rows);
/* The same with the rows of the called tool. */
struct mcp_job *mcp_job_of_tool(struct mcp_call *call);
/* The session in the arguments, or "default". */
const char *mcp_job_session(const struct mcp_job *job);

/* Call an operation; @next gets its result. Owns: takes @params. */
void mcp_job_do(struct mcp_job *job, const char *operation, json_t *params, mcp_next_fn *next);

/* Make the session that the arguments name, then call @then; sets is_new. */
void mcp_job_create(struct mcp_job *job, void (*then)(struct mcp_job *job));

/* Send a progress notification every five seconds. */
void mcp_job_beat(struct mcp_job *job);

/* End the job: with an answer, or with an error that the model shall read. */
void mcp_job_give(struct mcp_job *job, json_t *result);
void mcp_job_refuse(struct mcp_job *job, const struct err *err);
void mcp_job_no_resource(struct mcp_job *job);
/* End the job with a request to the client, see mcp_call_ask(). */
void mcp_job_ask(struct mcp_job *job, json_t *requests, json_t *state);

/* Wait for a run, and end the job with its record. */
void mcp_job_await(struct mcp_job *job, const char *run);

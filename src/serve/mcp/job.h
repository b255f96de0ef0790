/* The execution of a tool: a sequence of operations, then the response. SPDX-License-Identifier:
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
	json_t *arguments;	   /* arguments, with the names of the tool's rows */
	struct operation_call *op; /* the current operation */
	mcp_next_fn *next;
	void (*then)(struct mcp_job *job);
	struct mcp_beat *beat;
	bool is_cancelled;
	bool is_own_run;	   /* if the call is cancelled, the code is interrupted */
	bool is_new;		   /* the job created its session */
	size_t n_decided;	   /* number of approvals that were decided */
	char *text;		   /* scratch text of the tool; freed with the job */
	char line[MCP_LINE_BYTES]; /* the last printed line */
	size_t line_bytes;
	bool is_line_whole;
};

/* Check the arguments against @rows, and open an engine if necessary. Returns: NULL: an error
 * response was sent. */
struct mcp_job *mcp_job_new(struct mcp_call *call, const struct param *rows, size_t n_rows);
/* Create a job as above, with the rows of the called tool. */
struct mcp_job *mcp_job_of_tool(struct mcp_call *call);
/* Return the session in the arguments, or "default". */
const char *mcp_job_session(const struct mcp_job *job);

/* Call an operation; @next receives its result. Owns: takes @params. */
void mcp_job_do(struct mcp_job *job, const char *operation, json_t *params, mcp_next_fn *next);

/* Create the session that the arguments name, set is_new, then call @then. */
void mcp_job_create(struct mcp_job *job, void (*then)(struct mcp_job *job));

/* Send a progress notification every five seconds. */
void mcp_job_beat(struct mcp_job *job);

/* End the job: with a result, or with an error for the model to read. */
void mcp_job_give(struct mcp_job *job, json_t *result);
void mcp_job_refuse(struct mcp_job *job, const struct err *err);
void mcp_job_no_resource(struct mcp_job *job);
/* End the job with a request to the client, see mcp_call_ask(). */
void mcp_job_ask(struct mcp_job *job, json_t *requests, json_t *state);

/* Wait for a run, and end the job with the run's record. */
void mcp_job_await(struct mcp_job *job, const char *run);

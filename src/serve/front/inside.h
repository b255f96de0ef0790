/* What the files of the fronts share: a wire as a table of routes, and one request of it.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "base/json.h"
#include "serve/http/http.h"

struct front_call;
struct front_state;

/* A route of a wire: its handler must call front_answer(), front_fail() or front_operate(), now or
 * later. */
struct front_row {
	const char *method, *path; /* as in struct http_route */
	void (*start)(struct front_call *c);
	bool is_open, is_form; /* is_form: the body is not JSON; http_body() has it */
};

/* A wire. Rows for whole directories stand behind the others; the last one is for "/". They answer
 * in the wire's own way that there is nothing. */
struct front_wire {
	const char *name;
	const struct front_row *rows;
	size_t n_rows;
	bool is_any_type;  /* bodies are JSON whatever their content type is */
	bool may_be_empty; /* a POST may have no body, and no content type, unless a page sends it
			    */
	const char *key_query, *key_cookie; /* as in struct http_route */
	/* Answer that the request has failed, by front_answer(). @status is that which fits
	 * @err. */
	void (*fail)(struct front_call *c, unsigned status, const struct err *err);
	/* End what outlives requests, such as kernels. Called in turns of the loop until the
	 * result is false: then nothing is left in @state->own. NULL: there is nothing. */
	bool (*stop)(struct front_state *state);
};

extern const struct front_wire front_dify, front_nemo, front_piston, front_sandboxfusion,
	front_jupyter;

/* State of a wire that outlives its requests. */
struct front_state {
	const json_t *box; /* see struct front_set_config */
	json_t *languages; /* of the host, with their versions; NULL: not asked for yet */
	uint64_t idle_ms;  /* see struct front_set_config */
	void *own;	   /* what else the wire keeps; NULL at first */
};

/* A request. It may outlive the HTTP exchange. */
struct front_call {
	const struct front_wire *wire;
	struct front_state *state;
	const struct operation_context *context;
	struct http_exchange *x; /* NULL after the client has disconnected */
	json_t *body;		 /* an object; empty if the request has no body */
	json_t *kept;		 /* for the handler, released with the call; or NULL */
	/* private */
	void (*answered)(struct front_call *c, const json_t *result, const struct err *err);
	struct operation_call *under_way;
};

/* Answer with JSON, and end the call. Owns: takes @body. */
void front_answer(struct front_call *c, unsigned status, json_t *body);
/* Answer with status 204, without a body, and end the call. */
void front_answer_empty(struct front_call *c);
/* End the call without an answer. Returns: the exchange, which the caller must answer; NULL after
 * the client has disconnected. */
struct http_exchange *front_take(struct front_call *c);
/* Answer that the request has failed, and end the call. */
void front_fail(struct front_call *c, const struct err *err);

/* Start an operation. @answered is called once, and must end the call or start another operation.
 * Owns: takes @params. */
void front_operate(struct front_call *c, const char *operation, json_t *params,
	void (*answered)(struct front_call *c, const json_t *result, const struct err *err));

/* Add to @params, of program.run or session.create, what the operator has set for the boxes of
 * fronts, where @params say nothing else. @has_net: the request wants a network; its box gets one
 * if the operator has set rules and the caller may have it. */
void front_box(const struct front_call *c, json_t *params, bool has_net);

/* Start program.run with @params and front_box(). Otherwise as front_operate(); @params NULL: there
 * was no memory for them. */
void front_run(struct front_call *c, json_t *params, bool has_net,
	void (*answered)(struct front_call *c, const json_t *result, const struct err *err));

/* Answer as a wire whose errors have no other form: status 404 and the wire's error. */
void front_nothing(struct front_call *c);

/* ---- reading requests ---- */

/* Return a text of the body, or @fallback if it is missing or null. *@is_wrong is set if it is of
 * another type, or contains NUL. */
const char *front_text(
	const struct front_call *c, const char *name, const char *fallback, bool *is_wrong);
/* Return a time that the body gives in units of 1/@per_second s, in ms within the bounds of
 * operations; @fallback_ms if it is missing or not positive. */
int64_t front_time(const json_t *body, const char *name, unsigned per_second, int64_t fallback_ms);
/* Set limits.@name of @params to @value, which is brought within the bounds of the limit. */
void front_limit(json_t *params, const char *name, double value);

/* ---- writing results of program.run ---- */

/* How a step of a program has ended. */
struct front_end {
	enum { FRONT_EXITED, FRONT_SIGNALLED, FRONT_LATE, FRONT_NO_MEMORY } how;
	int code;   /* FRONT_EXITED: exit code */
	int signal; /* FRONT_SIGNALLED, FRONT_NO_MEMORY */
	double wall_ms, cpu_ms;
	json_int_t memory_bytes;
};

/* Read how the step of @record has ended. */
struct front_end front_read_end(const json_t *record);
/* Return what the program has printed: stdout, and in SQL the rows of all queries, as sqlite3
 * prints them: one per line, with "|" between the columns. Owns: the caller decrefs. */
json_t *front_stdout(const json_t *record);
/* Return how many bytes a cell has written to stderr, without the traceback of its error, which is
 * the last thing there. */
size_t front_stderr_bytes(const json_t *record);
/* Return @before and both texts as one. They may contain NUL. Owns: the caller decrefs. */
json_t *front_joined(const char *before, const json_t *a, const json_t *b);
/* Return a file of program.run in base64. Owns: the caller decrefs. Returns: NULL if memory is
 * exhausted. */
json_t *front_base64(const json_t *file);

/* A wire as a table of routes, and one request of it: what wires are made with, also those in other
 * rooms. SPDX-License-Identifier: Apache-2.0 */
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
	bool is_open;
	bool is_form; /* the body is multipart/form-data, which `start` reads with http_read_form()
		       */
	bool is_raw;  /* the body is not JSON; http_body() has it */
	/* As in struct http_route. With is_streamed, `start` must also set http_on_gone(). */
	bool is_streamed, is_open_socket;
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
	bool has_flat_errors;		    /* as in struct http_route */
	/* As in struct http_route: ports of sites that the wire serves itself, by its rows, and who
	 * may go to the other sites without a token of the engine. @state is that of the wire. */
	const uint16_t *site_ports;
	size_t n_site_ports;
	bool (*opens_site)(struct front_state *state, const struct http_exchange *x,
		const struct operation_context **context);
	/* Answer that the request has failed, by front_answer(). @status is that which fits
	 * @err. */
	void (*fail)(struct front_call *c, unsigned status, const struct err *err);
	/* End what outlives requests, such as kernels. Called in turns of the loop until the
	 * result is false: then nothing is left in @state->own. NULL: there is nothing. */
	bool (*stop)(struct front_state *state);
};

/* The wires of other rooms. */
extern const struct front_wire front_e2b, front_jupyter, front_open_terminal;

/* State of a wire that outlives its requests. */
struct front_state {
	const json_t *box;	/* see struct front_set_config */
	json_t *languages;	/* of the host, with their versions; NULL: not asked for yet */
	uint64_t idle_ms;	/* see struct front_set_config */
	struct port_way *ports; /* see front_set_ports() */
	void *own;		/* what else the wire keeps; NULL at first */
};

/* A request. It may outlive the HTTP exchange. */
struct front_call {
	const struct front_wire *wire;
	struct front_state *state;
	const struct operation_context *context;
	struct http_exchange *x; /* NULL after the client has disconnected */
	json_t *body;		 /* an object; empty if the request has no body */
	json_t *kept;		 /* for the handler, released with the call; or NULL */
	void *own;		 /* for the handler */
	/* private */
	bool is_named; /* the answer has the header that names a session */
	void (*answered)(struct front_call *c, const json_t *result, const struct err *err);
	const struct front_events *events;
	struct operation_call *under_way;
};

/* What gets the events of an operation while it is under way: as in struct operation_listener.
 * `raw` may be NULL. The client may have gone: then the operation was cancelled. */
struct front_events {
	void (*event)(struct front_call *c, const json_t *event);
	void (*raw)(struct front_call *c, const char *members, const char *data, size_t bytes);
};

/* Answer with JSON, and end the call. Owns: takes @body. */
void front_answer(struct front_call *c, unsigned status, json_t *body);
/* Answer with a file as file.read gives it, and end the call. @type: its media type. */
void front_answer_file(struct front_call *c, const char *type, const json_t *file);
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

/* As front_operate(), with its events. They are held back while the client reads slowly from a
 * stream. @events must stay valid. */
void front_follow(struct front_call *c, const char *operation, json_t *params,
	const struct front_events *events,
	void (*answered)(struct front_call *c, const json_t *result, const struct err *err));
/* Cancel the operation that is under way, if any. */
void front_cancel(struct front_call *c);

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

/* A front without an engine: see rig.c. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/front/wire.h"

/* Choices of a request. */
enum {
	FAILS = 1,    /* its operations fail */
	WAITS = 2,    /* those with events end after all requests */
	SLOW = 4,     /* the client reads slowly, and its body comes in small pieces */
	LEAVES = 8,   /* the client leaves while the request is under way */
	STOPS = 16,   /* the engine stops meanwhile */
	FOREIGN = 32, /* it has not the token of the sandbox */
	AT_CODE = 64, /* it is for the port of the code interpreter */
	GONE = 128,   /* operations fail as the session is gone */
};

enum { EVENTS_MAX = 4 }; /* of an operation */

/* A request, freed when it is answered or the client has left: nothing may use it afterwards. */
struct http_exchange {
	struct http_exchange *next;
	char *target;
	const char *method;
	json_t *headers;
	char *body;
	size_t bytes, at;
	unsigned choices, n_takes;
	bool is_stream;
	void (*gone)(void *arg), (*stop)(void *arg), (*progress)(void *arg);
	void *gone_arg, *stop_arg, *progress_arg;
};

extern struct http_exchange *exchanges; /* those that are under way */
extern struct operation_context context;
extern struct front_state state;
extern unsigned choices; /* of the request at hand */
/* What its operations result in, beside their examples; or NULL. "events" and "raw": what they tell
 * before; "wait": they end after all requests. */
extern const json_t *result;
extern json_t *answers; /* members of all answers, such as ids */

bool rig_is_open(const struct http_exchange *x);
void rig_drop(struct http_exchange *x);
/* What front.c does when a client leaves, and when the engine stops. @arg: the call. */
void rig_on_gone(void *arg);
void rig_on_stop(void *arg);
/* End an operation that waits. Returns: whether others do. */
bool rig_end_a_call(enum err_code code);

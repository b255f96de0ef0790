/* One call that goes through the gate. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "session/tool_call.h"

#include <jansson.h>
#include <stdbool.h>

struct gate;
struct gate_call; /* under way */

/* Texts are copied. */
struct gate_request {
	const char *session, *owner, *name; /* session "": of none */
	const json_t *arguments;	    /* an object */
	const bool *is_tainted; /* looked at when it is decided; NULL: who calls has read nothing */
	bool is_approved;	/* whatever the tool may do */
	bool is_trial;		/* nothing may be changed: it may not be kept */
	void *arg;
	/* Once: {"value"} or {"error"}, whose reference is taken. @is_untrusted: others wrote it.
	 */
	void (*answer)(void *arg, json_t *answer, bool is_untrusted);
};

/* Returns: the call, until it is answered; NULL: it was. */
struct gate_call *gate_start(struct gate *g, const struct gate_request *request);
/* Nobody waits any more: it is not answered. */
void gate_cancel(struct gate_call *call);

/* Borrowed. The arguments are an object. */
const char *gate_call_name(const struct gate_call *call);
const char *gate_call_owner(const struct gate_call *call);
/* The session has read what others wrote. */
bool gate_call_is_tainted(const struct gate_call *call);
/* What its step does may not be kept. */
bool gate_call_is_trial(const struct gate_call *call);
const json_t *gate_call_arguments(const struct gate_call *call);
const char *gate_call_session(const struct gate_call *call);
const char *gate_call_approval(const struct gate_call *call); /* while it asks */

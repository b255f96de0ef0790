/* A request of the Model Context Protocol, from the view of its handler. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "serve/mcp/server.h"

struct operation_context;

void *mcp_call_arg(const struct mcp_call *call); /* return `arg` of struct mcp_config */
enum mcp_era mcp_call_era(const struct mcp_call *call);
/* Return the protocol's revision: "2025-06-18". Revisions can be compared as texts. */
const char *mcp_call_version(const struct mcp_call *call);
/* Return the context for operations, and open it if necessary. Returns: NULL and @err. */
const struct operation_context *mcp_call_context(const struct mcp_call *call, struct err *err);
const json_t *mcp_call_params(const struct mcp_call *call);
/* Return the name of a tool or prompt, or the URI of a resource; "" for other requests. */
const char *mcp_call_name(const struct mcp_call *call);
/* Return params.arguments, or an empty object. */
const json_t *mcp_call_arguments(const struct mcp_call *call);
/* Return the part of the URI that matches "{…}" of the template, with its escapes; NULL without a
 * template. */
const char *mcp_call_match(const struct mcp_call *call);

/* Did the client declare the capability: "elicitation", "sampling", "roots", "elicitation.url"? */
bool mcp_call_can(const struct mcp_call *call, const char *capability);

/*
 * Send the response and end the call; to be called once. Required also after `cancelled`, when the
 * response is dropped. @result: without resultType and serverInfo, which are added if the era has
 * them. @data: data of the error, or NULL.
 * Owns:    takes the references.
 */
void mcp_call_give(struct mcp_call *call, json_t *result);
void mcp_call_fail(struct mcp_call *call, int code, const char *message, json_t *data);

/* Respond that the resource does not exist, in the form of the era. */
void mcp_call_no_resource(struct mcp_call *call);

/* Respond with a failure of a tool, for the model to read: {"content": [text], "isError": true}. */
void mcp_call_refuse(struct mcp_call *call, const char *text);

/* Set a callback that is called once if the client no longer waits for the response. */
void mcp_call_on_cancel(struct mcp_call *call, void (*cancelled)(void *arg), void *arg);

/* Send a progress or log notification while the client waits, if the client asked for it. A
 * notification whose @progress is not higher than the last is dropped. @total below 0: unknown;
 * @message may be NULL. @data: its reference is taken. @level: "info", "error", … of RFC 5424. */
bool mcp_call_has_progress(const struct mcp_call *call);
void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *message);
void mcp_call_log(struct mcp_call *call, const char *level, const char *logger, json_t *data);

/*
 * Send requests to the client: @requests is {key: {"method", "params"}}. After the client's
 * responses, `start` is called again with the responses and @state. In the modern era the responses
 * arrive in a new request, which may never come; so @state must contain everything that the handler
 * needs, and is sent through the client, sealed.
 *
 * Until then, @call continues in the legacy era and is over in the modern era: do not use it.
 * Owns: takes both references; @state may be NULL.
 * A capability that the client did not declare fails the call.
 */
void mcp_call_ask(struct mcp_call *call, json_t *requests, json_t *state);

/* Return the responses: {key: result}, or {key: {"error": …}}; NULL before any request.
 * mcp_call_state(): return the state. */
const json_t *mcp_call_answers(const struct mcp_call *call);
const json_t *mcp_call_state(const struct mcp_call *call);

/* Convert a text that may be invalid UTF-8 to JSON. Owns: the caller. */
json_t *mcp_text(const char *text, size_t bytes);

/* One request of the Model Context Protocol, as its handler uses it. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "serve/mcp/server.h"

struct operation_context;

/* Return `arg` of struct mcp_config. */
void *mcp_call_arg(const struct mcp_call *call);
enum mcp_era mcp_call_era(const struct mcp_call *call);
/* Return the revision of the protocol, such as "2025-06-18". strcmp() orders revisions by age. */
const char *mcp_call_version(const struct mcp_call *call);
/* Return the context in which to start operations. If there is none yet, create it, which may
 * start an engine. Returns: NULL and @err on failure. */
const struct operation_context *mcp_call_context(const struct mcp_call *call, struct err *err);
const json_t *mcp_call_params(const struct mcp_call *call);
/* Return the name of the requested tool or prompt, or the URI of the requested resource; "" for
 * other requests. */
const char *mcp_call_name(const struct mcp_call *call);
/* Return params.arguments, or an empty object if it is missing. */
const json_t *mcp_call_arguments(const struct mcp_call *call);
/* Return the part of the requested URI that "{…}" in the template stands for, still with percent
 * escapes. Returns: NULL if the resource does not come from a template. */
const char *mcp_call_match(const struct mcp_call *call);

/* Return whether the client has declared a capability, such as "elicitation", "sampling", "roots"
 * or "elicitation.url". */
bool mcp_call_can(const struct mcp_call *call, const char *capability);

/*
 * mcp_call_give() responds with a result, mcp_call_fail() with a protocol error. Both end the call.
 * One of them must be called once for each call, even if it was cancelled; the response is then
 * dropped.
 * @result lacks resultType and serverInfo, which are added if the request has a modern protocol
 * revision (enum mcp_era). @data describes the error further, or is NULL.
 * Owns:    takes @result and @data.
 */
void mcp_call_give(struct mcp_call *call, json_t *result);
void mcp_call_fail(struct mcp_call *call, int code, const char *message, json_t *data);

/* Respond that the resource does not exist. The error code depends on the protocol revision of the
 * call: legacy and modern revisions (enum mcp_era) have different codes. */
void mcp_call_no_resource(struct mcp_call *call);

/* Respond that the tool has failed, with a text for the model: {"content": [text], "isError":
 * true}. */
void mcp_call_refuse(struct mcp_call *call, const char *text);

/* Set the function that is called once if the client no longer waits for the response. */
void mcp_call_on_cancel(struct mcp_call *call, void (*cancelled)(void *arg), void *arg);

/*
 * Send a progress or log notification, if the client has asked for such notifications and still
 * waits.
 * @progress must grow: a notification is dropped unless it is higher than the last. @total is
 * negative if unknown. @message may be NULL. @level is a level of RFC 5424, such as "info" or
 * "error".
 * Owns:    takes @data.
 * mcp_call_has_progress() returns whether progress notifications would be sent.
 */
bool mcp_call_has_progress(const struct mcp_call *call);
void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *message);
void mcp_call_log(struct mcp_call *call, const char *level, const char *logger, json_t *data);

/*
 * Send requests to the client, such as one for a form. @requests is {key: {"method", "params"}}.
 * When the client has responded, `start` is called again; then mcp_call_answers() returns the
 * responses and mcp_call_state() returns @state.
 *
 * Do not use @call until `start` is called again:
 * - With a legacy protocol revision (enum mcp_era), `start` then gets the same call.
 * - With a modern revision, @call ends now. `start` gets a new call when the client repeats its
 *   request, which may never happen. So @state must contain all that the handler needs: @state is
 *   sealed and sent to the client, which sends it back.
 *
 * If the client lacks a capability that a request needs, the call fails.
 * Owns:    takes @requests and @state, which may be NULL.
 */
void mcp_call_ask(struct mcp_call *call, json_t *requests, json_t *state);

/* mcp_call_answers() returns the client's responses to the requests of mcp_call_ask(): {key:
 * result} or {key: {"error": …}}. mcp_call_state() returns the @state of mcp_call_ask(). Both
 * return NULL when the handler, `start`, is called for the first time, because it has not used
 * mcp_call_ask() yet. */
const json_t *mcp_call_answers(const struct mcp_call *call);
const json_t *mcp_call_state(const struct mcp_call *call);
/* Return whether the client has cancelled the call instead of answering mcp_call_ask(). The handler
 * is called only to end what it has begun: its response is dropped. */
bool mcp_call_is_abandoned(const struct mcp_call *call);

/* Convert a text to a JSON string. Invalid UTF-8 is repaired. Owns: the caller decrefs. */
json_t *mcp_text(const char *text, size_t bytes);

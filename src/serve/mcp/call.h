/* What a handler of the Model Context Protocol has: one request, and how it is answered.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/mcp/server.h"

struct operation_context;

void *mcp_call_arg(const struct mcp_call *call); /* of struct mcp_config */
enum mcp_era mcp_call_era(const struct mcp_call *call);
/* "2025-06-18": revisions compare as texts do. */
const char *mcp_call_version(const struct mcp_call *call);
/* With whose rights operations are called; opened now if need be. Returns: NULL and @err. */
const struct operation_context *mcp_call_context(const struct mcp_call *call, struct err *err);
const json_t *mcp_call_params(const struct mcp_call *call);
/* Of a tool or prompt its name, of a resource its URI; "" for other requests. */
const char *mcp_call_name(const struct mcp_call *call);
/* params.arguments; an empty object when there are none. */
const json_t *mcp_call_arguments(const struct mcp_call *call);
/* What stands for "{…}" of the template's URI, as it was written; NULL when it is no template. */
const char *mcp_call_match(const struct mcp_call *call);

/* Did the client say that it can "elicitation", "sampling", "roots", "elicitation.url"? */
bool mcp_call_can(const struct mcp_call *call, const char *capability);

/*
 * The answer, once, and the call is over. It must come also after `cancelled`, and is dropped then.
 * @result: without resultType and serverInfo, which are added where the era has them.
 * @data: of the error, or NULL. Owns: takes the references.
 */
void mcp_call_give(struct mcp_call *call, json_t *result);
void mcp_call_fail(struct mcp_call *call, int code, const char *message, json_t *data);

/* There is no such resource, in the words of the era. */
void mcp_call_no_resource(struct mcp_call *call);

/* A tool's failure that its model is to read: {"content": [text], "isError": true}. */
void mcp_call_refuse(struct mcp_call *call, const char *text);

/* Told once when nobody waits for the answer any more. */
void mcp_call_on_cancel(struct mcp_call *call, void (*cancelled)(void *arg), void *arg);

/*
 * To the client while it waits; nothing happens when it did not ask for it. @progress that is not
 * above the last is dropped. @total below 0: not known; @message: or NULL. @data: its reference is
 * taken. @level: "info", "error", … of RFC 5424.
 */
bool mcp_call_has_progress(const struct mcp_call *call);
void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *message);
void mcp_call_log(struct mcp_call *call, const char *level, const char *logger, json_t *data);

/*
 * Ask the client: @requests is {key: {"method", "params"}}. When it has answered, `start` is called
 * again, with the answers and @state; in the modern era as another request, which may never come,
 * so
 * @state is what must be known then, sealed on its way through the client.
 *
 * Until then @call is not over in the legacy era, and over in the modern one: leave it alone.
 * Owns: takes both references; @state may be NULL.
 * A capability that the client did not declare fails the call.
 */
void mcp_call_ask(struct mcp_call *call, json_t *requests, json_t *state);

/* {key: result}, or {key: {"error": …}}; NULL when nothing was asked yet. */
const json_t *mcp_call_answers(const struct mcp_call *call);
const json_t *mcp_call_state(const struct mcp_call *call);

/* Bytes that may be no UTF-8, as JSON. Owns: the caller. */
json_t *mcp_text(const char *text, size_t bytes);

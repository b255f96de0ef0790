/* A request of the Model Context Protocol, as its handler sees it. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "serve/mcp/server.h"

struct operation_context;

void *mcp_call_arg(const struct mcp_call *call); /* `arg` of struct mcp_config */
enum mcp_era mcp_call_era(const struct mcp_call *call);
/* "2025-06-18": revisions compare as texts do. */
const char *mcp_call_version(const struct mcp_call *call);
/* The context in which operations are called; it is opened if necessary. Returns: NULL and @err. */
const struct operation_context *mcp_call_context(const struct mcp_call *call, struct err *err);
const json_t *mcp_call_params(const struct mcp_call *call);
/* The name of a tool or prompt, the URI of a resource; "" for other requests. */
const char *mcp_call_name(const struct mcp_call *call);
/* params.arguments, or an empty object. */
const json_t *mcp_call_arguments(const struct mcp_call *call);
/* The part of the URI that matches "{…}" of the template, not unescaped; NULL without a template.
 */
const char *mcp_call_match(const struct mcp_call *call);

/* Did the client say that it can "elicitation", "sampling", "roots", "elicitation.url"? */
bool mcp_call_can(const struct mcp_call *call, const char *capability);

/*
 * Answer, once; the call is over then. Required also after `cancelled`, when the answer is dropped.
 * @result: without resultType and serverInfo, which are added if the era has them.
 * @data: of the error, or NULL. Owns: takes the references.
 */
void mcp_call_give(struct mcp_call *call, json_t *result);
void mcp_call_fail(struct mcp_call *call, int code, const char *message, json_t *data);

/* Answer that the resource does not exist, as the era has it. */
void mcp_call_no_resource(struct mcp_call *call);

/* Answer with a failure of a tool that the model shall read: {"content": [text], "isError": true}.
 */
void mcp_call_refuse(struct mcp_call *call, const char *text);

/* Called once when nobody waits for the answer any more. */
void mcp_call_on_cancel(struct mcp_call *call, void (*cancelled)(void *arg), void *arg);

/* Notify the client while it waits, if it asked for that. @progress has to grow, or it is dropped.
 * @total below 0: unknown; @message may be NULL. @data: its reference is taken. @level: "info",
 * "error", … of RFC 5424. */
bool mcp_call_has_progress(const struct mcp_call *call);
void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *message);
void mcp_call_log(struct mcp_call *call, const char *level, const char *logger, json_t *data);

/*
 * Ask the client: @requests is {key: {"method", "params"}}. After its answer `start` is called
 * again, with the answers and @state. In the modern era that is a new request, which may never
 * come; so @state has all that is needed then, and travels through the client, sealed.
 *
 * Until then @call is not over in the legacy era, and over in the modern one: leave it alone.
 * Owns: takes both references; @state may be NULL.
 * A capability that the client did not declare fails the call.
 */
void mcp_call_ask(struct mcp_call *call, json_t *requests, json_t *state);

/* {key: result}, or {key: {"error": …}}; NULL before anything was asked. */
const json_t *mcp_call_answers(const struct mcp_call *call);
const json_t *mcp_call_state(const struct mcp_call *call);

/* A text that may be invalid UTF-8, as JSON. Owns: the caller. */
json_t *mcp_text(const char *text, size_t bytes);

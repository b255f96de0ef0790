/* The handshake with a server, which selects the version of the protocol. SPDX-License-Identifier:
 * Apache-2.0 */
#include "base/json.h"
#include "tool/inside.h"

#include <stdio.h>
#include <string.h>

enum {
	HTTP_BAD_REQUEST = 400,
	HTTP_NOT_FOUND = 404,
	HTTP_NOT_ALLOWED = 405,
	RPC_MISMATCH = -32020,
	RPC_CAPABILITY = -32021,
	RPC_VERSION = -32022,
};

static const char *const legacy[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

static bool is_legacy(const char *version)
{
	for (size_t i = 0; version && i < ARRAY_LEN(legacy); i++)
		if (strcmp(version, legacy[i]) == 0)
			return true;
	return false;
}

static bool has_text(const json_t *list, const char *text)
{
	const json_t *item;
	size_t i;
	json_array_foreach(list, i, item)
	{
		if (json_is_string(item) && strcmp(json_string_value(item), text) == 0)
			return true;
	}
	return false;
}

/* ---- the handshake of the legacy era: the request initialize ---- */

static void fail(struct mcp_client *c, const char *what, const char *which)
{
	struct err err = {0};
	(void)err_set(&err, ERR_PROTOCOL, "%s%.150s", what, which);
	client_fail(c, &err);
}

/* End all calls with the error of @answer. Remove the server's name from the message of the
 * error, because client_fail() adds the name again. */
static void fail_as(struct mcp_client *c, const struct mcp_answer *answer)
{
	struct err err = answer->err;
	char prefix[SERVER_NAME_BYTES + 16];
	snprintf(prefix, sizeof prefix, "server %s: ", c->config.server->name);
	size_t n = strlen(prefix);
	if (strncmp(err.msg, prefix, n) == 0)
		memmove(err.msg, err.msg + n, strlen(err.msg + n) + 1);
	client_fail(c, &err);
}

static void on_initialized(void *arg, const struct mcp_answer *answer)
{
	struct mcp_client *c = arg;
	struct err err = {0};
	const char *version = json_string_value(json_object_get(answer->result, "protocolVersion"));
	if (answer->end != MCP_RESULT) {
		fail_as(c, answer);
		return;
	}
	if (!is_legacy(version)) {
		fail(c, "it speaks a revision of the protocol that retort does not: ",
			version ? version : "none");
		return;
	}
	snprintf(c->version, sizeof c->version, "%s", version);
	if (client_send(c, NULL, json_pack("{s:s}", "method", "notifications/initialized"), &err) <
		0)
		client_fail(c, &err);
	else if (c->link->kind == &mcp_stdio)
		client_ready(c);
}

static int initialize(struct mcp_client *c, struct err *err)
{
	c->state = CLIENT_GREETING;
	c->is_modern = false;
	c->version[0] = '\0';
	struct mcp_call *call = client_add(c, "initialize",
		json_need(json_pack("{s:s, s:o, s:{s:s, s:s}}", "protocolVersion", legacy[0],
			"capabilities",
			c->config.ask ? json_pack("{s:{}}", "elicitation") : json_object(),
			"clientInfo", "name", "retort", "version", RETORT_VERSION)),
		on_initialized, c);
	call->is_own = true;
	int r = client_post(c, call, err);
	if (r < 0)
		client_drop(call);
	return r;
}

/* ---- the handshake of the modern era: the request server/discover ---- */

static bool is_modern_code(const json_t *error)
{
	json_int_t code = json_integer_value(json_object_get(error, "code"));
	return code == RPC_VERSION || code == RPC_MISMATCH || code == RPC_CAPABILITY;
}

static void go_legacy(struct mcp_client *c)
{
	struct err err = {0};
	if (initialize(c, &err) < 0)
		client_fail(c, &err);
}

/* Return whether the failure of server/discover means that the server belongs to the legacy era. */
static bool is_legacy_sign(const struct mcp_client *c, const struct mcp_answer *answer)
{
	const json_t *supported =
		json_object_get(json_object_get(answer->result, "data"), "supported");
	bool is_legacy_too = false;
	for (size_t i = 0; i < ARRAY_LEN(legacy); i++)
		is_legacy_too |= has_text(supported, legacy[i]);
	if (c->config.server->protocol == SERVER_MODERN)
		return false;
	if (answer->end == MCP_REFUSED)
		return is_legacy_too || !is_modern_code(answer->result);
	return answer->status == HTTP_BAD_REQUEST || answer->status == HTTP_NOT_FOUND ||
		answer->status == HTTP_NOT_ALLOWED;
}

static void on_discovered(void *arg, const struct mcp_answer *answer)
{
	struct mcp_client *c = arg;
	const json_t *versions = json_object_get(answer->result, "supportedVersions");
	if (answer->end == MCP_RESULT && has_text(versions, MCP_MODERN)) {
		client_ready(c);
		return;
	}
	if (answer->end == MCP_RESULT && c->config.server->protocol == SERVER_MODERN)
		fail(c, "it does not speak ", MCP_MODERN);
	else if (answer->end == MCP_RESULT || is_legacy_sign(c, answer))
		go_legacy(c);
	else
		fail_as(c, answer);
}

static int discover(struct mcp_client *c, struct err *err)
{
	c->state = CLIENT_PROBING;
	c->is_modern = true;
	snprintf(c->version, sizeof c->version, "%s", MCP_MODERN);
	struct mcp_call *call =
		client_add(c, "server/discover", json_need(json_object()), on_discovered, c);
	call->is_own = true;
	int r = client_post(c, call, err);
	if (r < 0)
		client_drop(call);
	return r;
}

/* Unless "protocol" is configured, try server/discover with HTTP servers only. A program of the
 * legacy era may exit because of this request, or may not respond to it, which would cost a
 * whole timeout. */
int client_greet(struct mcp_client *c, struct err *err)
{
	enum server_protocol p = c->config.server->protocol;
	bool probes = p == SERVER_MODERN || (p == SERVER_AUTO && c->config.server->url);
	return probes ? discover(c, err) : initialize(c, err);
}

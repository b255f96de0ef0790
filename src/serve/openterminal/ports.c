/* Ports of boxes, of the front "open-terminal". A port is opened when the first request for it
 * comes, only for the user whose box it is. SPDX-License-Identifier: Apache-2.0 */
#include "serve/openterminal/inside.h"

#include "base/num.h"
#include "serve/web/port_route.h"

#include <stdio.h>
#include <string.h>

static void on_listed(struct front_call *c, const json_t *result, const struct err *err)
{
	json_t *all, *port;
	size_t i;
	if (!result) {
		front_fail(c, err);
		return;
	}
	all = json_need(json_array());
	json_array_foreach(json_object_get(result, "ports"), i, port)
	{
		if (json_get_bool(port, "listening"))
			json_add_new(all,
				json_pack("{s:O, s:n, s:n}", "port", json_object_get(port, "port"),
					"pid", "process"));
	}
	front_answer(c, 200, json_pack("{s:o}", "ports", all));
}

static void list(struct front_call *c)
{
	front_operate(c, "port.list", ot_params(c), on_listed);
}

void ot_start_ports(struct front_call *c)
{
	ot_enter(c, list);
}

/* ---- passing requests on ---- */

static void on_open(struct front_call *c, const json_t *result, const struct err *err)
{
	uint16_t port = (uint16_t)json_get_int(c->kept, "port");
	if (ot_is_left(c))
		return;
	if (!result) {
		if (err->code == ERR_NOT_FOUND || err->code == ERR_USAGE || err->code == ERR_GONE)
			ot_refuse(c, 404, "Port not found");
		else
			front_fail(c, err);
		return;
	}
	struct port_way *way = c->state->ports;
	char session[OT_SESSION_BYTES], prefix[64];
	const char *target = http_target(c->x), *dir = strstr(target, "/proxy/");
	const char *rest = dir + strlen("/proxy/");
	rest += strcspn(rest, "/?");
	snprintf(session, sizeof session, "%s", json_get_text(c->kept, "session"));
	snprintf(prefix, sizeof prefix, "%.*s/proxy/%u", (int)MIN(dir - target, 32), target,
		(unsigned)port);
	const struct port_pass pass = {
		.session = session, .port = port, .target = rest, .prefix = prefix};
	port_route_pass(way, front_take(c), &pass);
}

static void proxy(struct front_call *c)
{
	char path[OT_PATH_BYTES];
	uint64_t port;
	struct err err;
	bool is_read = ot_read_rest(http_target(c->x), "/proxy/", path);
	size_t n = strcspn(path, "/");
	path[n] = '\0';
	if (!is_read || num_parse_count(path, (struct num_range){1, UINT16_MAX}, &port, &err) < 0) {
		ot_refuse(c, 422, "Port must be between 1 and 65535");
		return;
	}
	json_t *params = ot_params(c);
	json_put_int(c->kept, "port", (int64_t)port);
	json_put_int(params, "port", (int64_t)port);
	json_put_text(params, "listen", "http");
	front_operate(c, "port.open", params, on_open);
}

void ot_start_proxy(struct front_call *c)
{
	ot_enter(c, proxy);
}

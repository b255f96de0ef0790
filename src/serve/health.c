/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/health.h"

#include <stdlib.h>
#include <string.h>

void health_start(void *arg, struct http_exchange *x)
{
	const struct health *h = arg;
	bool is_well = h->is_well(h->arg);
	const char *status = h->is_stopping ? "stopping" : is_well ? "ok" : "warden_gone";
	json_t *about = json_pack("{s:s, s:s}", "status", status, "version", h->version);
	char *text = about ? json_dumps(about, JSON_COMPACT) : NULL;
	const char *body = text ? text : "{}";
	http_answer(
		x, is_well && !h->is_stopping ? 200 : 503, "application/json", body, strlen(body));
	free(text);
	json_decref(about);
}

void metrics_start(void *arg, struct http_exchange *x)
{
	struct err err;
	(void)arg;
	(void)err_set(&err, ERR_NOT_FOUND, "no metrics yet");
	http_refuse(x, 501, &err);
}

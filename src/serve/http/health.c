/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/http/health.h"

#include "api/operation/metrics.h"
#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void health_start(void *arg, struct http_exchange *x)
{
	const struct health *h = arg;
	bool is_well = h->is_well(h->arg);
	const char *status = is_well ? "ok" : "warden_gone";
	cleanup_json json_t *about =
		json_pack("{s:s, s:s}", "status", status, "version", h->version);
	char *text = about ? json_dumps(about, JSON_COMPACT) : NULL;
	const char *body = text ? text : "{}";
	http_answer(x, is_well ? 200 : 503, "application/json", body, strlen(body));
	free(text);
}

void metrics_start(void *arg, struct http_exchange *x)
{
	cleanup_buf struct buf text = BUF_INIT(METRICS_BYTES);
	struct err err;
	(void)arg;
	int r = metrics_write(&text, http_context(x));
	if (r == 0) {
		http_answer(x, 200, "text/plain; version=0.0.4; charset=utf-8", buf_str(&text),
			text.bytes);
		return;
	}
	if (r == -EPERM) {
		err_fail(&err, ERR_DENIED, "have metrics=yes added to the caller's token",
			"metrics are about all callers");
	} else {
		(void)err_set(&err, ERR_NO_MEMORY, "no memory for the metrics");
	}
	http_refuse(x, (unsigned)err_http(err.code), &err);
}

/* HTTP endpoints for monitoring: health and metrics. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/http/http.h"

struct health {
	const char *version;
	bool (*is_well)(void *arg);
	void *arg;
};

/* Handle GET /healthz, which needs no token. Respond {"status": "ok", "version"}; or with status
 * 503 if the warden has ended. @arg is a struct health. */
void health_start(void *arg, struct http_exchange *x);

/* Handle GET /metrics: respond with the metrics in the text format of Prometheus. @arg is
 * unused. */
void metrics_start(void *arg, struct http_exchange *x);

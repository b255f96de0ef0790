/* Endpoints for monitoring: health and metrics. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/http/http.h"

struct health {
	const char *version;
	bool (*is_well)(void *arg);
	void *arg;
};

/* Handle GET /healthz, which needs no token: {"status": "ok", "version"}, or 503. @arg: a struct
 * health. */
void health_start(void *arg, struct http_exchange *x);

/* Handle GET /metrics: metrics in Prometheus' text format. @arg: unused. */
void metrics_start(void *arg, struct http_exchange *x);

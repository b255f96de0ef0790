/* Health and metrics, for monitoring. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/http/http.h"

struct health {
	const char *version;
	bool (*is_well)(void *arg);
	void *arg;
};

/* GET /healthz, open to all: {"status": "ok", "version"}, or 503. @arg: a struct health. */
void health_start(void *arg, struct http_exchange *x);

/* GET /metrics: Prometheus' text. @arg: unused. */
void metrics_start(void *arg, struct http_exchange *x);

/* An engine in this process, with its event loop. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/agent/agent_store.h"
#include "api/agent/models.h"
#include "api/gate/gate.h"
#include "api/operation/operation.h"

#include <stdint.h>
#include <uv.h>

struct service;

struct service_config {
	const char *state_dir;			  /* of the journal; NULL: a temporary journal */
	unsigned n_standby, n_checkpoints;	  /* n_checkpoints 0: the default */
	uint64_t session_ttl_ms, session_idle_ms; /* as in registry_config */
	uint64_t retain_ms, max_sessions, max_memory_bytes; /* as in registry_config */
	const char *version;
	struct models models;	   /* models that agents may use */
	struct agent_store agents; /* store of agents; default: below state_dir */
	const char *tools;	   /* file that lists tool servers for code, or NULL */
	const char *plan_tools;	   /* file of tools for plans; NULL: `tools` */
	const char *skills;	   /* directory of skills, for skills_open(); or NULL */
	struct gate_log log;	   /* log of tool calls */
};

/* Start an engine, which handles SIGINT and SIGTERM from then on. Errors: ERR_BOX and those of
 * registry_open(), price_check(); *@out is then NULL. */
int service_open(struct service **out, const struct service_config *config, struct err *err);

/* End all sessions, then the engine. Blocks: until everything is freed. NULL: does nothing. */
void service_close(struct service *s);
/* Return the loop, and the context of operations, for fronts. Valid until service_close(). */
uv_loop_t *service_loop(struct service *s);
const struct operation_context *service_context(struct service *s);

/*
 * Call an operation and run the loop until it is done. A SIGINT meanwhile cancels the call, SIGTERM
 * does so twice.
 *
 * @events: called with each event, or NULL.
 * Owns:    takes the reference of @params (may be NULL); the caller decrefs *@result.
 * Returns: 0, or negative errno and @err.
 */
int service_call(struct service *s, const char *method, json_t *params,
	const struct operation_listener *events, json_t **result, struct err *err);

/*
 * Run the loop until @fd is readable (or at its end).
 * Returns: 0, -EINTR after a SIGINT, -ECANCELED after a SIGTERM, or another negative errno.
 */
int service_wait(struct service *s, int fd);

/*
 * Call @told from the loop for each signal @number, which must not be SIGINT or SIGTERM: for
 * signals of the terminal. At most SERVICE_WATCHES signals can be watched.
 */
enum { SERVICE_WATCHES = 4 };
int service_watch(
	struct service *s, int number, void (*told)(void *arg), void *arg, struct err *err);

/* Run one turn of the loop. Blocks: until something happens. */
void service_turn(struct service *s);

/*
 * Run the loop until @is_over() returns true, @ms have passed, or another SIGINT or SIGTERM
 * arrives.
 * Returns: 0, -ETIME, -EINTR.
 */
int service_drain(struct service *s, bool (*is_over)(void *arg), void *arg, uint64_t ms);

/* service_is_over(): has the warden ended by itself? service_is_ended(): has the warden ended, or a
 * SIGINT or SIGTERM arrived? */
bool service_is_over(const struct service *s);
bool service_is_ended(const struct service *s);

/*
 * Run the loop until a SIGINT or SIGTERM. Returns: the signal's number.
 * Errors: ERR_GONE: the warden has ended, and all steps that ran have been answered.
 */
int service_run(struct service *s, struct err *err);

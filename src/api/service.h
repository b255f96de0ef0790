/* An engine in this process, with its loop. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/agent/agent_store.h"
#include "api/agent/models.h"
#include "api/gate/gate.h"
#include "api/operation/operation.h"

#include <stdint.h>
#include <uv.h>

struct service;

struct service_config {
	const char *state_dir;			  /* of the journal, or NULL: none is kept */
	unsigned n_standby, n_checkpoints;	  /* of checkpoints, 0: the default */
	uint64_t session_ttl_ms, session_idle_ms; /* as of registry_config: 0 is none */
	uint64_t retain_ms, max_sessions, max_memory_bytes; /* likewise */
	const char *version;
	struct models models;	   /* that agents may use */
	struct agent_store agents; /* where they are kept; else below state_dir */
	const char *tools;	   /* file that lists servers of tools for code; NULL: none */
	const char *plan_tools;	   /* the same, or tools that answer, for plans; NULL: `tools` */
	const char *skills;	   /* directory of skills, as skills_open() has it; NULL: none */
	struct gate_log log;	   /* of their calls */
};

/* Start it. SIGINT and SIGTERM belong to it from then on. Errors: ERR_BOX and those of
 * registry_open(), price_check(). *@out is then NULL. */
int service_open(struct service **out, const struct service_config *config, struct err *err);

/* End all sessions, then the engine. Blocks: until everything is gone. NULL is nothing. */
void service_close(struct service *s);
/* What fronts work with: the loop, and the context of operations. Valid until it is closed. */
uv_loop_t *service_loop(struct service *s);
const struct operation_context *service_context(struct service *s);

/*
 * Call an operation and run the loop until it is done. A SIGINT meanwhile cancels the call, SIGTERM
 * does so twice.
 *
 * @event:  told of each event, or NULL.
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
 * Have the loop call @told whenever signal @number comes, which is neither SIGINT nor SIGTERM: one
 * of the terminal's. At most SERVICE_WATCHES.
 */
enum { SERVICE_WATCHES = 4 };
int service_watch(
	struct service *s, int number, void (*told)(void *arg), void *arg, struct err *err);

/* One turn of the loop. Blocks: until something happens. */
void service_turn(struct service *s);

/*
 * Run the loop until @is_over says so, @ms have gone, or one more SIGINT or SIGTERM has come.
 * Returns: 0, -ETIME, -EINTR.
 */
int service_drain(struct service *s, bool (*is_over)(void *arg), void *arg, uint64_t ms);

/* Has the warden ended by itself? Or has a SIGINT or SIGTERM come? */
bool service_is_over(const struct service *s);
bool service_is_ended(const struct service *s);

/*
 * Run the loop until a SIGINT or SIGTERM. Returns: the signal's number.
 * Errors: ERR_GONE: the warden has ended, and all steps that ran have been answered.
 */
int service_run(struct service *s, struct err *err);

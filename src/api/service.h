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
	const char *state_dir; /* directory of the journal; NULL: a temporary journal */
	/* State directory that has the templates with packages; NULL: there are none. */
	const char *layers_dir;
	/* n_standby: number of branches that the registry keeps ready for each template, and number
	 * of sessions for which it keeps one branch ready. n_checkpoints: number of checkpoints
	 * that the registry keeps per session; 0: the default of the registry. */
	unsigned n_standby, n_checkpoints;
	/* Maximum number of programs of program.run at a time; 0: twice the number of CPUs, at
	 * least 4. */
	unsigned n_programs;
	/* Default maximum age and idle time of a session; 0: unlimited. */
	uint64_t session_ttl_ms, session_idle_ms;
	/* retain_ms: a session is pruned when it has been closed for this time; 0: never.
	 * max_sessions, max_memory_bytes: limits on all live sessions together; 0: unlimited. */
	uint64_t retain_ms, max_sessions, max_memory_bytes;
	/* A Python that every caller may name, also one who may not name paths of the host;
	 * borrowed until service_close(); or NULL. */
	const char *shared_python;
	const char *version;
	struct models models; /* models that agents may use */
	/* Store of agents. If its `dir` is NULL, a directory in state_dir is used. If state_dir
	 * is NULL, too, agents are not saved. */
	struct agent_store agents;
	const char *tools; /* file that lists tool servers for code, or NULL */
	/* File that lists tool servers for plans. NULL: the file `tools` is for plans, too. */
	const char *plan_tools;
	const char *skills; /* directory of skills, for skills_open(); or NULL */
	/* Directory for unix sockets of ports, which only the user may enter, borrowed until
	 * service_close(); or NULL. */
	const char *runtime_dir;
	const char *socket_dir; /* directory of the engine's unix socket, as runtime_dir */
	struct gate_log log;	/* log of tool calls */
};

/* Start an engine. It handles SIGINT and SIGTERM from then on. Errors: ERR_BOX and those of
 * registry_open() and price_check(). *@out is NULL after an error. */
int service_open(struct service **out, const struct service_config *config, struct err *err);

/* End all sessions, then the engine. Blocks: until everything is freed. NULL: do nothing. */
void service_close(struct service *s);
/* service_loop() returns the loop, and service_context() the context of operations, for use by
 * fronts. Both are valid until service_close(). */
uv_loop_t *service_loop(struct service *s);
const struct operation_context *service_context(struct service *s);

/*
 * Call an operation, and run the loop until it is done. SIGINT during the call cancels it. SIGTERM
 * cancels it twice, which stops a running step at once.
 *
 * @events: its `event` is called with each event, its `done` is not called. May be NULL.
 * Owns:    takes the reference of @params (may be NULL); the caller decrefs *@result.
 * Returns: 0, or negative errno and @err.
 */
int service_call(struct service *s, const char *method, json_t *params,
	const struct operation_listener *events, json_t **result, struct err *err);

/*
 * Run the loop until @fd is readable or at its end.
 * Returns: 0; -EINTR after SIGINT; -ECANCELED after SIGTERM; or another negative errno.
 */
int service_wait(struct service *s, int fd);

/* Call @told from the loop whenever signal @number arrives. SIGINT and SIGTERM are not allowed
 * here; this is for signals of the terminal. At most SERVICE_WATCHES signals can be watched. */
enum { SERVICE_WATCHES = 4 };
int service_watch(
	struct service *s, int number, void (*told)(void *arg), void *arg, struct err *err);

/* Let the loop handle the next events. Blocks: until something happens. */
void service_turn(struct service *s);

/*
 * Run the loop until @is_over() returns true, @ms have passed, another SIGINT or SIGTERM arrives,
 * or the warden ends.
 * Returns: 0 if @is_over() returned true; -ETIME if @ms have passed; -EINTR after a signal, or if
 * the warden has ended.
 */
int service_drain(struct service *s, bool (*is_over)(void *arg), void *arg, uint64_t ms);

/* service_is_over(): return whether the warden has ended by itself. service_is_ended(): return
 * whether the warden has ended, or SIGINT or SIGTERM has arrived. */
bool service_is_over(const struct service *s);
bool service_is_ended(const struct service *s);

/*
 * Run the loop until SIGINT or SIGTERM. Returns: the signal's number.
 * Errors: ERR_GONE: the warden has ended, and all running steps have been answered.
 */
int service_run(struct service *s, struct err *err);

/* What plans can call in an engine: what its runner says. SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A list of servers names programs to start, with variables of the engine's environment. So callers
 * send tools that answer themselves, and whatever is real is the runner's. Texts are borrowed, and
 * outlive the engine.
 */
struct plan_source {
	const char *tools; /* as `retort plan --tools` reads it; NULL: there are none */
	const char *name;  /* of that file, for messages */
};

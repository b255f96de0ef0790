/* The code interpreter of the front "e2b". SPDX-License-Identifier: Apache-2.0 */
#include "serve/e2b/inside.h"

void e2b_start_execute(struct front_call *c)
{
	e2b_refuse(c, 501, "not yet");
}

void e2b_start_contexts(struct front_call *c)
{
	e2b_refuse(c, 501, "not yet");
}

void e2b_start_new_context(struct front_call *c)
{
	e2b_refuse(c, 501, "not yet");
}

void e2b_start_context_restart(struct front_call *c)
{
	e2b_refuse(c, 501, "not yet");
}

void e2b_start_context_end(struct front_call *c)
{
	e2b_refuse(c, 501, "not yet");
}

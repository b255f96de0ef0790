/* The service filesystem.Filesystem of the front "e2b". SPDX-License-Identifier: Apache-2.0 */
#include "serve/e2b/inside.h"

void e2b_start_filesystem(struct front_call *c)
{
	e2b_rpc_refuse(c, "unimplemented", "not yet");
}

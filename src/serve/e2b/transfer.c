/* Contents of files, up and down, of the front "e2b". SPDX-License-Identifier: Apache-2.0 */
#include "serve/e2b/inside.h"

void e2b_start_download(struct front_call *c)
{
	e2b_refuse(c, 501, "not yet");
}

void e2b_start_upload(struct front_call *c)
{
	e2b_refuse(c, 501, "not yet");
}

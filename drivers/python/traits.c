/* SPDX-License-Identifier: Apache-2.0 */
#include "traits.h"

#include <sys/prctl.h>

void traits_find(struct traits *traits)
{
	if (prctl(PR_GET_PDEATHSIG, &traits->death_signal, 0, 0, 0) < 0)
		traits->death_signal = 0;
	if (prctl(PR_GET_CHILD_SUBREAPER, &traits->is_subreaper, 0, 0, 0) < 0)
		traits->is_subreaper = 0;
}

void traits_put_back(const struct traits *traits)
{
	if (traits->death_signal)
		(void)prctl(PR_SET_PDEATHSIG, traits->death_signal, 0, 0, 0);
	if (traits->is_subreaper)
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

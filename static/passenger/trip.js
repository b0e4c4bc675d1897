// Copies the address of the trip's page.

import { offerCopy } from "./copy.js";

offerCopy();

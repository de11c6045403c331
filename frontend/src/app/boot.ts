// Imported first: what must be done before anything renders or asks the network.
import { takeTokenFromAddress } from "../api/token";
import { applyTheme } from "./theme";

takeTokenFromAddress();
applyTheme();

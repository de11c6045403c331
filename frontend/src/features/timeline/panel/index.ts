// The tool row above the lanes and the details below them.
export { Details } from "./Details";
export { ToolRow } from "./ToolRow";

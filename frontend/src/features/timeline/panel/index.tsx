// The tool row above the lanes and the details below them.

export function ToolRow() {
  return <div data-testid="tool-row" />;
}

export function Details() {
  return null;
}

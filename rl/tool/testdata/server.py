"""An MCP server of the official Python SDK, version 1 or 2, for TestMCPOfPython, over stdin and stdout."""

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server

server = Server("test")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def greet(name: str) -> str:
    """Greets."""
    return f"hello {name}"


@server.tool()
def fail() -> str:
    raise ValueError("no such city")


@server.tool()
def person() -> dict:
    return {"name": "Ann", "age": 7}


server.run("stdio")

from raydebug.demo.command import demo

demo(prog_name="python -m raydebug.demo")

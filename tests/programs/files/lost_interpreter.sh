#!/nonexistent/interpreter -x
echo never

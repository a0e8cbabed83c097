// Methods, generics and a closure, with nothing but Go's runtime.
package main

type Server struct {
	name string
	hits int
}

//
//go:noinline
func (s *Server) Serve(n int) int {
	s.hits += n
	return s.hits
}

func (s Server) Name() string { return s.name }

//go:noinline
func Map[T any, U any](in []T, f func(T) U) (out []U) {
	for _, value := range in {
		out = append(out, f(value))
	}
	return out
}

func main() {
	server := &Server{name: "main"}
	squares := Map([]int{1, 2}, func(i int) int { return i * server.Serve(i) })
	println(server.Serve(3), server.Name(), squares[1])
}

package reflector

import "context"

func (r *Reflector[T]) run(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

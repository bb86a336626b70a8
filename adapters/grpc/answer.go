package weirgrpc

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// answer holds the middleware's answer until it becomes a gRPC status and metadata.
type answer struct {
	header   http.Header
	status   int
	body     []byte
	limited  bool
	decision weir.Decision // when limited
	violated []middleware.Violation
}

var _ middleware.LimitedWriter = (*answer)(nil)

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) { a.status = status }

func (a *answer) Write(b []byte) (int, error) {
	a.body = append(a.body, b...)
	return len(b), nil
}

func (a *answer) Limited(d weir.Decision, violated []middleware.Violation) {
	a.limited, a.decision, a.violated = true, d, violated
}

// metadata returns the headers, without those about a body.
func (a *answer) metadata() metadata.MD {
	md := make(metadata.MD, len(a.header))
	for name, values := range a.header {
		switch name {
		case "Content-Type", "Content-Length", "Cache-Control":
		default:
			md[strings.ToLower(name)] = values
		}
	}
	return md
}

// problem has the useful members of a problem body.
type problem struct{ Title, Detail string }

// refusal returns the answer as the error of a call.
func (a *answer) refusal(ctx context.Context) error {
	code := codes.Internal // also for a 500
	if i := slices.Index(statuses[:], a.status); i > 0 && a.status != http.StatusInternalServerError {
		code = codes.Code(i)
	}
	if a.status == http.StatusServiceUnavailable && ctx.Err() != nil {
		code = status.FromContextError(ctx.Err()).Code()
	}
	var p problem
	_ = json.Unmarshal(a.body, &p) // A refusal needs no text.
	if p.Detail == "" {
		p.Detail = p.Title
	}
	if !a.limited {
		return status.Error(code, p.Detail)
	}
	return a.overLimit(code, p.Detail)
}

// overLimit returns the error of a call that a limit refused.
func (a *answer) overLimit(code codes.Code, detail string) error {
	message := strings.TrimSuffix(detail, ".")
	var details []protoadapt.MessageV1
	if len(a.violated) > 0 {
		policies := make([]string, 0, len(a.violated))
		quota := &errdetails.QuotaFailure{}
		for _, v := range a.violated {
			policies = append(policies, v.Policy)
			quota.Violations = append(quota.Violations, &errdetails.QuotaFailure_Violation{
				Subject:     "limiter:" + v.Limiter,
				Description: "The call is over the limit " + v.Policy + ".",
				QuotaId:     v.Policy,
			})
		}
		message += " (" + strings.Join(policies, ", ") + ")"
		details = append(details, protoadapt.MessageV1Of(quota))
	}
	message += "."
	if d := a.decision.RetryAfter; d > 0 && a.decision.Reason != weir.ReasonNeverFits {
		message += " Retry after " + d.String() + "."
		details = append(details, protoadapt.MessageV1Of(&errdetails.RetryInfo{RetryDelay: durationpb.New(d)}))
	}
	st := status.New(code, message)
	if detailed, err := st.WithDetails(details...); err == nil {
		st = detailed
	}
	return st.Err()
}

// Prints what the Go libraries make of names, one JSON object a line; see names.test.ts.
//
//	go run . > vectors.jsonl
package main

import (
	"encoding/json"
	"os"
	"strings"

	ctrlutils "github.com/openmcp-project/controller-utils/pkg/controller"
	"github.com/openmcp-project/openmcp-operator/lib/clusteraccess/advanced"
	"github.com/openmcp-project/openmcp-operator/lib/utils"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type vector struct {
	Controller string            `json:"controller"`
	Namespace  string            `json:"namespace"`
	Name       string            `json:"name"`
	MCP        string            `json:"mcpNamespace"`
	Requests   map[string]string `json:"requests"`
	ManagedBy  string            `json:"managedBy"`
	Purposes   map[string]string `json:"purposes"`
}

func main() {
	controllers := []string{
		"foo",
		"Flux",
		"kro.services.open-control-plane.io",
		"a-service-provider-with-a-name.that.is.longer.than.a.label-may-be.example.org",
	}
	namespaces := []string{"", "default", "project-a--ws-b", "project-" + strings.Repeat("n", 55)}
	names := []string{
		"a",
		"cp",
		"Upper-Case",
		"with.dots.in.it",
		"äöü-ß",
		strings.Repeat("x", 40),
		strings.Repeat("x", 49),
		strings.Repeat("x", 50),
		strings.Repeat("x", 51),
		strings.Repeat("x", 54),
		strings.Repeat("x", 63),
		strings.Repeat("ab-", 21),
		strings.Repeat("ab.-", 30),
		strings.Repeat("0123456789", 12),
		strings.Repeat("é", 60),
		strings.Repeat("y", 253),
	}
	out := json.NewEncoder(os.Stdout)
	for _, controller := range controllers {
		for _, namespace := range namespaces {
			for _, name := range names {
				if err := out.Encode(vectorOf(controller, namespace, name)); err != nil {
					panic(err)
				}
			}
		}
	}
}

func vectorOf(controller, namespace, name string) vector {
	req := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	mcp, err := utils.StableMCPNamespace(name, namespace)
	if err != nil {
		panic(err)
	}
	v := vector{
		Controller: controller, Namespace: namespace, Name: name, MCP: mcp,
		Requests: map[string]string{}, Purposes: map[string]string{},
	}
	for _, suffix := range []string{"", "mcp", "wl"} {
		v.Requests[suffix] = advanced.StableRequestName(controller, req, suffix)
	}
	for _, id := range []string{"mcp", "wl"} {
		by, purpose, _ := advanced.DefaultManagedLabelGenerator(controller, req, advanced.ExistingClusterRequest(id, id, nil).Build())
		// As the reconciler does before it writes them.
		v.ManagedBy = ctrlutils.ShortenToXCharactersUnsafe(by, ctrlutils.K8sMaxNameLength)
		v.Purposes[id] = ctrlutils.ShortenToXCharactersUnsafe(purpose, ctrlutils.K8sMaxNameLength)
	}
	return v
}
